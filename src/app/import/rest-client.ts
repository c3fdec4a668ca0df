/** REST with a secret key, for copying: patient with servers that are busy or away, but not for ever. */
import { type Clock, pause, systemClock } from '../../base/clock.ts';

export interface RestClient {
  /** @throws RestFailure */
  json(method: string, path: string, body?: unknown): Promise<unknown>;
  /** @throws RestFailure */
  bytes(path: string): Promise<Uint8Array>;
  /** @throws RestFailure */
  put(path: string, body: Uint8Array): Promise<void>;
}

/** An answer that is no success, or none at all after all tries (status 0). */
export class RestFailure extends Error {
  readonly status: number;

  constructor(status: number, message: string) {
    super(message);
    this.status = status;
  }
}

const TRIES_MAX = 7;
const PAUSE_FIRST_MS = 500;
const PAUSE_MS_MAX = 20_000;
const ANSWER_MS_MAX = 120_000;
const ANSWER_TEXT_MAX = 300;
const JSON_TYPE = 'application/json';

interface Asked {
  readonly method: string;
  readonly path: string;
  readonly body?: string | Uint8Array;
  readonly contentType?: string;
}

interface RestClientOptions {
  readonly url: string;
  readonly secretKey: string;
  /** Told once, with why the first answer is waited for. */
  readonly onWait?: (sentence: string) => void;
}

export function restClient({ url, secretKey, onWait }: RestClientOptions, clock: Clock = systemClock): RestClient {
  let hasWaited = false;
  const sayWait = (outcome: Response | Error): void => {
    if (!hasWaited)
      onWait?.(`Waiting for ${url}: ${outcome instanceof Error ? reasonOf(outcome) : `it answers ${outcome.status}`}.`);
    hasWaited = true;
  };
  const once = async ({ method, path, body, contentType }: Asked): Promise<Response> =>
    fetch(`${url}${path}`, {
      method,
      headers: { authorization: `Bearer ${secretKey}`, ...(contentType !== undefined && { 'content-type': contentType }) },
      ...(body !== undefined && { body: body as NonNullable<RequestInit['body']> }),
      signal: AbortSignal.timeout(ANSWER_MS_MAX),
    });
  const ask = async (asked: Asked): Promise<Response> => {
    for (let attempt = 1; ; attempt += 1) {
      const outcome = await once(asked).catch((error: unknown) => (error instanceof Error ? error : new Error(String(error))));
      const isLast = attempt === TRIES_MAX;
      if (outcome instanceof Error) {
        if (isLast) throw new RestFailure(0, `${asked.method} ${url}${asked.path} was not answered: ${reasonOf(outcome)}`);
      } else if (outcome.ok) {
        return outcome;
      } else if (isLast || !(outcome.status === 429 || outcome.status >= 500)) {
        const text = (await outcome.text().catch(() => '')).slice(0, ANSWER_TEXT_MAX);
        throw new RestFailure(outcome.status, `${asked.method} ${asked.path} answered ${outcome.status}: ${text}`);
      }
      sayWait(outcome);
      await pause(clock, pauseMs(attempt, outcome instanceof Error ? null : outcome.headers.get('retry-after')));
    }
  };
  return {
    async json(method, path, body) {
      const asked: Asked = { method, path };
      const response = await ask(body === undefined ? asked : { ...asked, body: JSON.stringify(body), contentType: JSON_TYPE });
      const text = await response.text();
      return text === '' ? null : JSON.parse(text);
    },
    bytes: async (path) => new Uint8Array(await (await ask({ method: 'GET', path })).arrayBuffer()),
    async put(path, body) {
      await ask({ method: 'PUT', path, body, contentType: 'application/octet-stream' });
    },
  };
}

function pauseMs(attempt: number, retryAfter: string | null): number {
  const asked = Number(retryAfter) * 1_000;
  const own = PAUSE_FIRST_MS * 2 ** (attempt - 1);
  return Math.min(PAUSE_MS_MAX, Math.max(own, Number.isFinite(asked) ? asked : 0));
}

function reasonOf(error: Error): string {
  return error.cause instanceof Error ? error.cause.message : error.message;
}
