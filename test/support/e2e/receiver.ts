/** A customer's back end that takes webhooks: a real HTTP server, and the SDK's own verification. */
import { createServer, type IncomingMessage, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import { type WebhookEvent, WebhookHandler } from '@liveblocks/node';
import { onTestFinished } from 'vitest';
import { ask } from './rest.ts';
import type { TestServer } from './server.ts';
import { until } from './until.ts';

export interface Received {
  readonly headers: IncomingMessage['headers'];
  readonly body: string;
  readonly atMs: number;
}

type AnswerWith = (received: Received, response: ServerResponse) => void;

export interface Receiver {
  readonly url: string;
  readonly received: readonly Received[];
  /** How it answers from now on; 200 to begin with. */
  answer: AnswerWith;
  /** What came, verified with this secret, in order. @throws when the SDK does not accept one */
  verified(secret: string): WebhookEvent[];
  stop(): void;
}

export const TAKEN: AnswerWith = (_, response) => void response.writeHead(200).end('ok');
export const refused =
  (status: number): AnswerWith =>
  (_, response) =>
    void response.writeHead(status).end('no');

export async function aReceiver(answer: AnswerWith = TAKEN): Promise<Receiver> {
  const received: Received[] = [];
  const server = createServer((request, response) => {
    const pieces: Buffer[] = [];
    request.on('data', (piece: Buffer) => pieces.push(piece));
    request.on('end', () => {
      const one = { headers: request.headers, body: Buffer.concat(pieces).toString(), atMs: performance.now() };
      received.push(one);
      receiver.answer(one, response);
    });
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  const stop = (): void => {
    server.closeAllConnections();
    server.close();
  };
  onTestFinished(stop);
  const receiver: Receiver = {
    url: `http://127.0.0.1:${(server.address() as AddressInfo).port}/hooks`,
    received,
    answer,
    verified(secret) {
      const handler = new WebhookHandler(secret);
      return received.map(({ headers, body: rawBody }) => handler.verifyRequest({ headers, rawBody }));
    },
    stop,
  };
  return receiver;
}

export const WEBHOOKS = '/v2/management/projects/any/webhooks';

export interface Hook {
  readonly id: string;
  readonly secret: string;
  readonly path: string;
}

/** Creates a webhook, which is deleted when the test ends. */
export async function aHook(server: TestServer, url: string, events: readonly string[], more: object = {}): Promise<Hook> {
  const { status, text, json } = await ask(server, WEBHOOKS, { json: { url, subscribedEvents: events, ...more } });
  if (status !== 200) throw new Error(`no webhook: ${status} ${text}`);
  const path = `${WEBHOOKS}/${json.id}`;
  onTestFinished(async () => void (await ask(server, path, { method: 'DELETE' })));
  return { id: json.id, secret: json.secret.value, path };
}

/** The events of a room that came, in order, as `type` and data. */
export function ofRoom(receiver: Receiver, { secret }: Hook, roomId: string): WebhookEvent[] {
  return receiver.verified(secret).filter(({ data }) => data.roomId === roomId);
}

/** Waits until so many events of a room have come. */
export async function eventsOf(
  receiver: Receiver,
  hook: Hook,
  { roomId, count, timeoutMs = 8_000 }: { roomId: string; count: number; timeoutMs?: number },
): Promise<WebhookEvent[]> {
  await until(`${count} events of ${roomId} have come`, () => ofRoom(receiver, hook, roomId).length >= count, { timeoutMs });
  return ofRoom(receiver, hook, roomId);
}
