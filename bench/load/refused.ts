/** Company that says what no server should do: each of it is refused, at the price of its own socket or request (reliability 2.f). */
import { request } from 'node:http';
import { Readable } from 'node:stream';
import * as encoding from 'lib0/encoding';
import * as Y from 'yjs';
import type { Company, Trial } from '../case.ts';
import { LIMITS } from '../config.ts';
import { restHeaders, restUrl } from '../servers/server.ts';
import { documentOf } from './documents.ts';
import { ask } from './large-rooms.ts';
import { Line, wayInto } from './line.ts';
import { startPace } from './pace.ts';
import { type Dialling, startDialling } from './seat.ts';
import { isStep, STEP_1, syncFrame, UPDATE } from './sync-frames.ts';

type Refusable = Company & { readonly refused: () => number };

const ROOM = 'refused';
const STREAMED_PIECE_BYTES = 64 * 1024;

/** Each over a socket of its own, which is closed for it. */
export async function hostileUpdates(trial: Trial): Promise<Company> {
  await trial.server.openRoom(trial.address, ROOM);
  const frames = HOSTILE.map(updateFrame);
  return dialled(trial, { roomId: ROOM, door: 'yjs', hello: (turn) => frames[turn % frames.length]! });
}

/** Each over a socket of its own, which is closed for it. */
export async function longFrames(trial: Trial): Promise<Company> {
  const roomId = 'long';
  await trial.server.openRoom(trial.address, roomId);
  const frame = Buffer.from(JSON.stringify([{ type: 103, event: 'x'.repeat(LIMITS.longBytes) }]));
  return dialled(trial, { roomId, hello: () => frame });
}

export async function longBodies(trial: Trial): Promise<Company> {
  const body = JSON.stringify({ id: ROOM, metadata: { long: 'x'.repeat(LIMITS.longBodies.bytes) } });
  return requests(trial, LIMITS.longBodies.perSecond, [{ method: 'POST', path: '/v2/rooms', body }]);
}

/** Their length is not told: the server counts what comes. */
export async function streamedBodies(trial: Trial): Promise<Refusable> {
  const piece = Buffer.alloc(STREAMED_PIECE_BYTES, 'x');
  const refusals = { count: 0 };
  const send = (): void => {
    const streamed = request(restUrl(trial.address, '/v2/rooms'), { method: 'POST', headers: restHeaders() }, (response) => {
      if (response.statusCode === 413) refusals.count += 1;
      response.resume();
      streamed.destroy();
    });
    streamed.on('error', () => undefined); // it may be cut off before all is sent
    const pieces = function* () {
      for (let sent = 0; sent < LIMITS.longBodies.bytes; sent += piece.length) yield piece;
    };
    Readable.from(pieces()).pipe(streamed);
  };
  return paced(refusals, LIMITS.longBodies.perSecond, send);
}

/** Each over a socket of its own, which is closed for it. */
export async function longPresences(trial: Trial): Promise<Refusable> {
  const roomId = 'shown';
  await trial.server.openRoom(trial.address, roomId);
  const shown = Buffer.from(
    JSON.stringify([{ type: 100, targetActor: -1, data: { picture: 'x'.repeat(LIMITS.longPresenceBytes) } }]),
  );
  return dialled(trial, { roomId, hello: () => shown });
}

/** Clients that build on what they never bring: the room asks for it, and keeps no more than it may. Counted is what it asks. */
export function waitingUpdates(trial: Trial): Promise<Refusable> {
  return early(trial, 'waiting', () => builderOf(LIMITS.waiting.bytes));
}

/** Clients that delete what nobody brings; likewise. */
export function waitingDeletions(trial: Trial): Promise<Refusable> {
  return early(trial, 'deleting', (client) => deleterOf(client + 1, LIMITS.waiting.ranges));
}

async function early(trial: Trial, room: string, frames: (client: number) => () => Buffer): Promise<Refusable> {
  const { clients, perSecond } = LIMITS.waiting;
  await trial.server.openRoom(trial.address, room);
  const questions = { count: 0 };
  const ways = wayInto(trial, 'yjs', room);
  const hear = (frame: Buffer): void => {
    if (isStep(STEP_1, frame)) questions.count += 1;
  };
  const writers = Array.from({ length: clients }, (_, client) => ({ line: new Line(ways, { hear }), next: frames(client) }));
  const say = (client: number): void => {
    const { line, next } = writers[client]!;
    if (line.socket.isOpen) line.say(next());
  };
  const stop = startPace({ senders: clients, perSecond, send: say });
  return {
    refused: () => questions.count,
    stop() {
      stop();
      const closed = writers.filter(({ line }) => !line.socket.isOpen).length;
      for (const { line } of writers) line.socket.terminate();
      return closed === 0 ? [] : [`${closed} who only brought too much were closed`];
    },
  };
}

/** Each call is one update more of a document that only this client writes, as a frame; nobody hears of the first. */
function builderOf(bytes: number): () => Buffer {
  const ydoc = new Y.Doc();
  const pieces = ydoc.getArray<Uint8Array>('pieces');
  let frame: Buffer = Buffer.alloc(0);
  ydoc.on('update', (update: Uint8Array) => {
    frame = updateFrame(update);
  });
  const build = (): Buffer => {
    pieces.push([new Uint8Array(bytes)]);
    return frame;
  };
  build();
  return build;
}

/** Each call deletes every other clock of a stretch of a client that nobody has heard of, behind the stretch before, as a frame. */
function deleterOf(writer: number, ranges: number): () => Buffer {
  let from = 0;
  return () => {
    const deletions = Array.from({ length: ranges }, (_, range) => [from + 2 * range, 1]);
    from += 2 * ranges;
    return updateFrame(numbers(0, 1, writer, ranges, ...deletions.flat()));
  };
}

export async function badRequests(trial: Trial): Promise<Company> {
  const patch = (ops: unknown): Bad => ({ method: 'PATCH', path: PATCHES, body: JSON.stringify(ops) });
  return requests(trial, LIMITS.badRequestsPerSecond, [
    { method: 'POST', path: '/v2/rooms', body: JSON.stringify({ id: ROOM, metadata: nested(40) }) },
    patch(nested(200)),
    patch(Array.from({ length: 1_001 }, (_, number) => ({ op: 'add', path: `/key${number}`, value: number }))),
    patch([{ op: 'add', path: '/a'.repeat(65), value: 1 }]),
    { method: 'PATCH', path: PATCHES, body: '[{"op":"add","path":"/__proto__","value":1}]' },
    { method: 'PATCH', path: PATCHES, body: '[{"op":"add","path":"/number","value":1e999}]' },
    { method: 'GET', path: `/v2/rooms?query=${encodeURIComponent(`roomId^"${'x'.repeat(5_000)}"`)}` },
    { method: 'GET', path: `/v2/rooms?query=${encodeURIComponent('('.repeat(40))}` },
  ]);
}

const PATCHES = `/v2/rooms/${ROOM}/storage/json-patch`;

/** As measured of Yjs: memory or time out of all proportion to the bytes, or edits of others that vanish. */
const HOSTILE: readonly Uint8Array[] = [
  numbers(1, 30_000_000, 1, 0), // structs that are not there
  numbers(1, 1, 77, 0, 0, 2 ** 40, 0), // a clock beyond all
  numbers(0, 1, 1, 2 ** 31), // deletions that are not there
  numbers(2 ** 31, 0),
  nestedTypes(70),
];

/** As y-websocket says it. */
function updateFrame(update: Uint8Array): Buffer {
  return syncFrame(UPDATE, update);
}

/** Types in types, deeper than may be. */
function nestedTypes(depth: number): Uint8Array {
  const ydoc = new Y.Doc();
  let inner = ydoc.getMap<Y.Map<unknown>>('outermost');
  for (let at = 0; at < depth; at += 1) inner = inner.set('inner', new Y.Map()) as typeof inner;
  return Y.encodeStateAsUpdate(ydoc);
}

function numbers(...values: readonly number[]): Uint8Array {
  return encoding.encode((encoder) => {
    for (const value of values) encoding.writeVarUint(encoder, value);
  });
}

function nested(depth: number): unknown {
  return depth === 0 ? 1 : [nested(depth - 1)];
}

interface Bad {
  readonly method: string;
  readonly path: string;
  readonly body?: string;
}

/** One after the other; counted is what is answered with the client's own fault. */
async function requests(trial: Trial, perSecond: number, bad: readonly Bad[]): Promise<Refusable> {
  await trial.server.openRoom(trial.address, ROOM);
  await ask(trial, 'POST', `/v2/rooms/${ROOM}/storage`, JSON.stringify(documentOf(10)));
  const refusals = { count: 0 };
  return paced(refusals, perSecond, (turn) => {
    const { method, path, body } = bad[turn % bad.length]!;
    fetch(restUrl(trial.address, path), { method, headers: restHeaders(), ...(body !== undefined && { body }) })
      .then(async (response) => {
        await response.arrayBuffer();
        if (response.status >= 400 && response.status < 500) refusals.count += 1;
      })
      .catch(() => undefined); // a body that is not read to its end may cost its connection: not counted
  });
}

function dialled(trial: Trial, dialling: Omit<Dialling, 'perSecond'>): Refusable {
  const { closes, stop } = startDialling(trial, { ...dialling, perSecond: LIMITS.dialsPerSecond });
  return refusable(closes, stop);
}

function paced(refused: { readonly count: number }, perSecond: number, act: (turn: number) => void): Refusable {
  let turn = 0;
  return refusable(refused, startPace({ senders: 1, perSecond, send: () => act(turn++) }));
}

function refusable(refused: { readonly count: number }, stop: () => void): Refusable {
  return {
    refused: () => refused.count,
    stop() {
      stop();
      return [];
    },
  };
}
