/**
 * The admin port: probes, metrics and the order to drain, for operators and their machines; clients never reach it. It is open before the
 * database is, so that a long migration is not taken for a dead process, and it closes last.
 */
import { listenRefused } from '../adapters/listen-probe.ts';
import { makeNodeServer } from '../adapters/node-server.ts';
import { type Metrics, noMetrics } from '../base/metrics.ts';
import type { Log } from '../base/observe.ts';
import { StartRefused } from '../base/start-refused.ts';
import type { Settings } from '../config.ts';
import type { HttpHandler, HttpRequest, HttpResponse } from '../kernel/transport/server.ts';

export interface AdminDeps {
  readonly log: Log;
  /** Null when this worker may own rooms and does not drain; else why not, as the rest of a sentence. */
  readonly whyNotReady: () => string | null;
  /** For who looks at one that is ready: what it cannot do at the moment, or null. It stays ready, because most often no other worker can either. */
  readonly whatWaits: () => string | null;
  /** Begins the end of this process, as SIGTERM does. */
  readonly drain: () => void;
}

export interface Admin {
  readonly metrics: Metrics;
  /** Null when there is none. */
  readonly port: number | null;
  close(): Promise<void>;
}

/** Without ADMIN_PORT there is none, and nothing is counted. @throws StartRefused when the port cannot be had. */
export async function openAdmin({ ADMIN_HOST: host, ADMIN_PORT }: Settings, deps: AdminDeps): Promise<Admin> {
  if (ADMIN_PORT === undefined) return { metrics: noMetrics, port: null, close: async () => undefined };
  const { makePrometheus } = await import('../adapters/prometheus.ts');
  const prometheus = makePrometheus();
  const server = makeNodeServer({
    http: adminHandler({ ...deps, page: prometheus }),
    upgrades: () => false,
    socket: () => ({
      message: () => undefined,
      tooLong: () => undefined,
      closed: () => undefined,
      ponged: () => undefined,
      drained: () => undefined,
    }),
    frameBytesMax: 0,
    sendBufferBytesMax: 0,
    reportBug: (error) => deps.log.error({ err: error }, 'admin request failed'),
  });
  try {
    const { port } = await server.listen({ host, port: ADMIN_PORT });
    deps.log.info({ host, port }, 'admin port open');
    return { metrics: prometheus, port, close: () => server.close() };
  } catch (error) {
    const cause = error instanceof StartRefused ? error.cause : error;
    throw listenRefused(host, ADMIN_PORT, cause, { host: 'ADMIN_HOST', port: 'ADMIN_PORT' });
  }
}

interface AdminHandlerDeps extends AdminDeps {
  /** The metrics as text. */
  readonly page: { readonly contentType: string; text(): Promise<string> };
}

type Answer = (request: HttpRequest, deps: AdminHandlerDeps) => HttpResponse | Promise<HttpResponse>;

const ROUTES: Readonly<Record<string, { readonly method: 'GET' | 'POST'; readonly answer: Answer }>> = {
  '/livez': { method: 'GET', answer: () => text(200, 'alive') }, // that this answers is the proof: the loop turns
  '/readyz': { method: 'GET', answer: (_, deps) => readiness(deps) },
  '/metrics': { method: 'GET', answer: (_, { page }) => metricsPage(page) },
  '/drain': { method: 'POST', answer: drainOrder },
};

/** Plain text for people and probes; see `ROUTES`. */
export function adminHandler(deps: AdminHandlerDeps): HttpHandler {
  return async (request) => {
    const route = Object.hasOwn(ROUTES, request.path) ? ROUTES[request.path] : undefined;
    if (route === undefined) return text(404, `There is ${Object.keys(ROUTES).join(', ')}.`);
    const isAllowed = request.method === route.method || (request.method === 'HEAD' && route.method === 'GET');
    if (!isAllowed) return { ...text(405, `Use ${route.method}.`), headers: { allow: route.method } };
    return route.answer(request, deps);
  };
}

function readiness({ whyNotReady, whatWaits }: AdminHandlerDeps): HttpResponse {
  const why = whyNotReady();
  if (why !== null) return text(503, `not ready: ${why}`);
  const waits = whatWaits();
  return text(200, waits === null ? 'ready' : `ready, but ${waits}`);
}

async function metricsPage(page: AdminHandlerDeps['page']): Promise<HttpResponse> {
  return { status: 200, headers: { 'content-type': page.contentType }, body: await page.text() };
}

/** A browser names the page's origin: no page that an operator happens to look at may end a server on the same machine. */
function drainOrder({ headers }: HttpRequest, { drain, log }: AdminHandlerDeps): HttpResponse {
  if (headers.origin !== undefined) return text(403, 'No browser may ask for this.');
  log.info('drain asked for on the admin port');
  drain();
  return text(202, 'draining');
}

function text(status: number, body: string): HttpResponse {
  return { status, headers: { 'content-type': 'text/plain; charset=utf-8' }, body: `${body}\n` };
}
