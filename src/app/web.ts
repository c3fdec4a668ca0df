/** The pages for people: the live demo at `/`, for which there are tokens where the settings allow it, and the console. */
import { readWebFiles } from '../adapters/web-files.ts';
import { hasDemo, type Settings } from '../config.ts';
import { demoRoutes } from '../features/demo/routes.ts';
import { servePages } from '../kernel/transport/pages.ts';
import type { BoundRoute } from '../kernel/transport/route.ts';
import type { HttpHandler } from '../kernel/transport/server.ts';

export interface Web {
  /** Answers the pages, and hands everything else on. */
  serve(others: HttpHandler): HttpHandler;
}

export async function openWeb(settings: Settings): Promise<Web> {
  const files = await readWebFiles();
  const pages = {
    ...(hasDemo(settings) && { '/': '/demo.html' }),
    ...(settings.CONSOLE && { '/console': '/console.html' }),
  };
  return { serve: (others) => servePages({ files, pages }, others) };
}

/** Routes that the pages need beside the API. */
export function webRoutes(
  settings: Settings,
  { issueToken }: { readonly issueToken: Parameters<typeof demoRoutes>[0]['issueToken'] },
): BoundRoute[] {
  return hasDemo(settings) ? demoRoutes({ issueToken }) : [];
}
