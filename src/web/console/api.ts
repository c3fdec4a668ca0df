/** Requests under the secret key. An answer that is too large to be shown is not read to its end. */

/** What a page of the console may weigh; larger documents are for programs. */
const ANSWER_BYTES_MAX = 4 * 1024 * 1024;

export class Refusal extends Error {
  readonly status: number;
  /** As in the API's table of errors; `TOO_LARGE` and `UNREACHABLE` are ours. */
  readonly code: string;

  constructor({ status, code, message }: { status: number; code: string; message: string }) {
    super(message);
    this.status = status;
    this.code = code;
  }
}

export interface Api {
  get<Answer>(path: string): Promise<Answer>;
  send<Answer>(method: 'POST' | 'DELETE', path: string, body?: unknown): Promise<Answer>;
}

/** Every method rejects with a Refusal. */
export function makeApi(secretKey: string): Api {
  async function ask<Answer>(method: string, path: string, body?: unknown): Promise<Answer> {
    const headers: Record<string, string> = { authorization: `Bearer ${secretKey}` };
    if (body !== undefined) headers['content-type'] = 'application/json';
    const response = await fetch(path, { method, headers, ...(body !== undefined && { body: JSON.stringify(body) }) }).catch(
      () => {
        throw new Refusal({ status: 0, code: 'UNREACHABLE', message: 'The server does not answer.' });
      },
    );
    const text = await readText(response);
    if (!response.ok) throw refusalOf(response.status, text);
    return (text === '' ? null : JSON.parse(text)) as Answer;
  }
  return { get: (path) => ask('GET', path), send: ask };
}

async function readText(response: Response): Promise<string> {
  if (response.body === null) return '';
  const decoder = new TextDecoder();
  const reader = response.body.getReader();
  let text = '';
  let bytes = 0;
  for (let piece = await reader.read(); !piece.done; piece = await reader.read()) {
    bytes += piece.value.byteLength;
    if (bytes > ANSWER_BYTES_MAX) {
      await reader.cancel();
      throw new Refusal({ status: 200, code: 'TOO_LARGE', message: 'This is larger than 4 MiB: read it with the REST API.' });
    }
    text += decoder.decode(piece.value, { stream: true });
  }
  return text + decoder.decode();
}

function refusalOf(status: number, text: string): Refusal {
  try {
    const { error, message } = JSON.parse(text) as { error: string; message: string };
    return new Refusal({ status, code: error, message });
  } catch {
    return new Refusal({ status, code: 'UNKNOWN', message: `The server answered with status ${status}.` });
  }
}

/** Room ids may hold slashes and what else URLs take as their own. */
export function roomPath(roomId: string, rest = ''): string {
  return `/v2/rooms/${encodeURIComponent(roomId)}${rest}`;
}

export function consolePath(roomId: string, rest: string): string {
  return `/v2/console/rooms/${encodeURIComponent(roomId)}${rest}`;
}
