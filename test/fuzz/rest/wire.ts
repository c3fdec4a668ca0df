/** Requests whose path and headers leave as they are given, which `fetch` would mend. */
import { Agent, request } from 'node:http';

export interface Request {
  readonly method: string;
  /** With the query. */
  readonly path: string;
  readonly headers: Readonly<Record<string, string | string[]>>;
  readonly body?: string | Uint8Array | undefined;
}
export interface Reply {
  readonly status: number;
  readonly headers: Readonly<Record<string, unknown>>;
  readonly text: string;
}

const agent = new Agent({ keepAlive: true, maxSockets: 20 });
const PATIENCE_MS = 20_000;

/** Rejects when no answer came. */
export function exchange(url: string, { method, path, headers, body }: Request): Promise<Reply> {
  return new Promise((resolve, reject) => {
    const { hostname, port } = new URL(url);
    const length = body === undefined ? {} : { 'content-length': String(Buffer.byteLength(body)) };
    const sent = request({ hostname, port, method, path, headers: { ...headers, ...length }, agent });
    sent.setTimeout(PATIENCE_MS, () => sent.destroy(new Error(`no answer in ${PATIENCE_MS} ms`)));
    sent.once('error', reject);
    sent.once('response', (response) => {
      const parts: Buffer[] = [];
      response.on('data', (part: Buffer) => parts.push(part));
      response.once('error', reject);
      response.once('end', () =>
        resolve({ status: response.statusCode!, headers: response.headers, text: Buffer.concat(parts).toString() }),
      );
    });
    sent.end(body);
  });
}
