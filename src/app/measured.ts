/** What is counted at the public port: requests by their status, sockets by the code they ended with. */
import type { Clock } from '../base/clock.ts';
import { ERRORS } from '../base/error-table.ts';
import type { Metrics } from '../base/metrics.ts';
import type { HttpHandler } from '../kernel/transport/server.ts';

export function measuredHttp(handler: HttpHandler, { metrics, clock }: { metrics: Metrics; clock: Clock }): HttpHandler {
  return async (request) => {
    const startedMs = clock.monotonicMs();
    const response = await handler(request);
    metrics.count('atrium_rest_requests_total', `${Math.floor(response.status / 100)}xx`);
    metrics.observe('atrium_rest_request_seconds', (clock.monotonicMs() - startedMs) / 1_000);
    return response;
  };
}

/** Codes of the protocol itself that either side may send or that stand for none. */
const WIRE_CODES = [1000, 1001, 1002, 1003, 1005, 1006, 1007, 1008, 1009, 1011, 1012, 1013];
/** y-websocket hears our 40xx as 44xx. */
const KNOWN_CODES: ReadonlySet<number> = new Set([
  ...WIRE_CODES,
  ...Object.values(ERRORS).flatMap(({ close }) => (close >= 4000 && close < 4100 ? [close, close + 400] : [close])),
]);

/** A client may close with any code it likes; those we do not know count together, or it could make thousands of counters. */
export function countClose(metrics: Metrics, code: number): void {
  metrics.count('atrium_socket_closes_total', KNOWN_CODES.has(code) ? String(code) : 'other');
}
