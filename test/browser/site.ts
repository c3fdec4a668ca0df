/** A customer's web site: one page in front of our server, and the end point that hands out tokens. */
import { once } from 'node:events';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { fileURLToPath } from 'node:url';
import { build } from 'esbuild';
import type { TestServer } from '../support/e2e/server.ts';

export interface Site {
  /** The page, for a user in a room. */
  urlFor(visit: { roomId: string; userId: string }): string;
  close(): Promise<void>;
}

const PAGES = new URL('./page/', import.meta.url);
const STYLE = `body { font-family: system-ui; margin: 24px; background: #f5f5f4 } #root { display: flex; gap: 24px; align-items: start }
  main { flex: 3; display: grid; gap: 16px } aside { flex: 2 } .thread, .new-thread, aside { background: white; border-radius: 8px }
  .applaud { margin: 8px 16px; font-size: 12px } h2 { font-size: 14px; padding: 0 12px }`;
const PAGE = `<!doctype html><html lang="en"><meta charset="utf-8"><title>Site</title><link rel="stylesheet" href="/site.css">
<style>${STYLE}</style><div id="root"></div><script type="module" src="/site.js"></script></html>`;

/** `entry`: the page, among those beside this file. */
export async function openSite(server: TestServer, entry: 'app.tsx' | 'feeds.tsx'): Promise<Site> {
  const { outputFiles } = await build({
    entryPoints: { site: fileURLToPath(new URL(entry, PAGES)) },
    bundle: true,
    write: false,
    format: 'esm',
    jsx: 'automatic',
    outdir: '/',
    define: { 'process.env.NODE_ENV': '"production"' },
    logLevel: 'error',
  });
  const files = new Map([['/site.css', Buffer.alloc(0)], ...outputFiles.map(({ path, contents }) => [path, contents] as const)]);
  const http = createServer(async (request, response) => {
    const path = request.url!.split('?')[0]!;
    if (path === '/auth') {
      const chunks: Buffer[] = [];
      for await (const chunk of request) chunks.push(chunk as Buffer);
      const { userId } = JSON.parse(Buffer.concat(chunks).toString()) as { userId: string };
      const session = server.backend.prepareSession(userId, { userInfo: { name: userId } });
      session.allow('*', session.FULL_ACCESS);
      const { body, status } = await session.authorize();
      response.writeHead(status, { 'content-type': 'application/json' }).end(body);
      return;
    }
    const file = files.get(path);
    const type = path.endsWith('.css') ? 'text/css' : 'text/javascript';
    if (file !== undefined) response.writeHead(200, { 'content-type': type }).end(file);
    else response.writeHead(200, { 'content-type': 'text/html' }).end(PAGE);
  });
  http.listen(0, '127.0.0.1');
  await once(http, 'listening');
  const { port } = http.address() as AddressInfo;
  return {
    urlFor: (visit) => `http://127.0.0.1:${port}/?${new URLSearchParams({ baseUrl: server.url, ...visit })}`,
    close: async () => {
      http.closeAllConnections();
      http.close();
    },
  };
}
