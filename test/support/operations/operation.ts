/** The operations that a server says it has, asked of it over HTTP. */
import { request as httpRequest } from 'node:http';
import { expect } from 'vitest';
import type { OpenApi, Operation, Schema } from '../../../src/kernel/transport/openapi.ts';
import { refusal } from '../e2e/contract.ts';
import { type Answer, ask } from '../e2e/rest.ts';
import type { TestServer } from '../e2e/server.ts';
import type { Example } from './example.ts';

export interface Walked {
  /** `POST /v2/rooms/{roomId}` */
  readonly name: string;
  readonly method: string;
  readonly path: string;
  readonly operation: Operation;
  /** Methods of the same path. */
  readonly allowed: readonly string[];
}

export async function operationsOf(server: TestServer): Promise<Walked[]> {
  const { paths } = (await ask(server, '/openapi.json', { bearer: null })).json as OpenApi;
  return Object.entries(paths).flatMap(([path, methods]) => {
    const allowed = Object.keys(methods).map((method) => method.toUpperCase());
    return Object.entries(methods).map(([lower, operation]) => {
      const method = lower.toUpperCase();
      return { name: `${method} ${path}`, method, path, operation, allowed };
    });
  });
}

/** What a request shows: the first alternative of its security, and the right that a token must give. */
export function needOf({ operation }: Walked): 'none' | 'secretKey' | 'backEndToken' | { readonly right: string } {
  const [first] = operation.security;
  if (first === undefined) return 'none';
  const [scheme = '', rights = []] = Object.entries(first)[0] ?? [];
  return scheme === 'token' ? { right: rights[0]! } : (scheme as 'secretKey' | 'backEndToken');
}

export interface Sent extends Example {
  readonly method?: string;
  /** In place of the example's body. */
  readonly text?: string;
  readonly contentType?: string;
  readonly headers?: Readonly<Record<string, string>>;
  /** In place of what `query` says. */
  readonly search?: string;
}

const JSON_TYPE = 'application/json';
const BYTES_TYPE = 'application/octet-stream';

export async function send(server: TestServer, walked: Walked, sent: Sent): Promise<Answer> {
  const { bearer = server.secretKey, json, bytes, text } = sent;
  const payload = text ?? (json === undefined ? bytes : JSON.stringify(json));
  const contentType = sent.contentType ?? (bytes === undefined ? JSON_TYPE : BYTES_TYPE);
  const response = await fetch(addressOf(server, walked, sent), {
    method: sent.method ?? walked.method,
    headers: {
      ...(bearer !== null && { authorization: `Bearer ${bearer}` }),
      ...(payload !== undefined && { 'content-type': contentType }),
      ...sent.headers,
    },
    ...(payload !== undefined && { body: payload as never }),
  });
  const answered = await response.text();
  return {
    status: response.status,
    headers: response.headers,
    text: answered,
    get json() {
      return JSON.parse(answered);
    },
  };
}

/** The status of the answer to a body that is only announced. */
export function announce(
  server: TestServer,
  walked: Walked,
  { bytesMax, bearer = server.secretKey, ...sent }: Sent & { bytesMax: number },
): Promise<number> {
  const contentType = sent.bytes === undefined ? JSON_TYPE : BYTES_TYPE;
  return new Promise((resolve, reject) => {
    const pending = httpRequest(addressOf(server, walked, sent), {
      method: walked.method,
      headers: { authorization: `Bearer ${bearer}`, 'content-type': contentType, 'content-length': bytesMax },
    });
    pending.once('error', reject);
    pending.once('response', (response) => {
      resolve(response.statusCode!);
      response.resume();
      pending.on('error', () => undefined); // it is cut off in the middle of a body that never comes
      pending.destroy();
    });
    pending.flushHeaders();
  });
}

function addressOf(server: TestServer, { path }: Walked, { params = {}, query = {}, search }: Sent): URL {
  const filled = path.replaceAll(/\{(\w+)\}/g, (_, name: string) => {
    if (params[name] === undefined) throw new Error(`the example gives no ${name}`);
    return encodeURIComponent(params[name]);
  });
  return new URL(`${filled}?${search ?? new URLSearchParams(query)}`, server.url);
}

/** Statuses other than refusals. */
export function successesOf({ operation }: Walked): string[] {
  return Object.keys(operation.responses).filter((status) => status !== 'default' && Number(status) < 400);
}

/** The schema, content type or absence of the body of a success. */
export function replyOf({ operation }: Walked, status: string): { type: string; schema: Schema | undefined } | null {
  const [entry] = Object.entries(operation.responses[status]?.content ?? {});
  return entry === undefined ? null : { type: entry[0], schema: entry[1].schema };
}

/** How a body may travel, its schema where it has one, and its bound. */
export function bodyOf({
  operation,
}: Walked): { types: string[]; required: boolean; schema: Schema | undefined; bytesMax: number | undefined } | null {
  const { requestBody } = operation;
  if (requestBody === undefined) return null;
  const [media] = Object.values(requestBody.content);
  const { schema, 'x-bytes-max': bytesMax } = media ?? {};
  return { types: Object.keys(requestBody.content), required: requestBody.required, schema, bytesMax };
}

/** It is refused so, in the form of the contract, and the document says that it may be. Returns the whole refusal. */
export function expectRefused({ name, operation }: Walked, answer: Answer, said: string): string {
  expect(answer.status, `${name} was not refused with ${said}: ${answer.text}`).toBeGreaterThanOrEqual(400);
  const told = refusal(answer);
  expect(told.slice(0, said.length), name).toBe(said);
  const code = answer.json.error as string;
  const documented = operation.responses[answer.status]?.description ?? '';
  expect(documented.split(', '), `${name} does not say that it refuses with ${answer.status} ${code}`).toContain(code);
  return told;
}
