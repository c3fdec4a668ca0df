/** Company that says what no server should do: each of it is refused, at the price of its own socket or request (reliability 2.f). */
import * as encoding from 'lib0/encoding';
import type { Company, Trial } from '../case.ts';
import { LIMITS } from '../config.ts';
import { restHeaders, restUrl } from '../servers/server.ts';
import { documentOf } from './documents.ts';
import { ask } from './large-rooms.ts';
import { startPace } from './pace.ts';
import { type Closes, Seat } from './seat.ts';

type Refusable = Company & { readonly refused: () => number };

const ROOM = 'refused';

/** Each over a socket of its own, which is closed for it. */
export async function hostileUpdates(trial: Trial): Promise<Company> {
  await trial.server.openRoom(trial.address, ROOM);
  const frames = HOSTILE.map(updateFrame);
  const closes: Closes = { count: 0 };
  return paced(
    closes,
    LIMITS.dialsPerSecond,
    (turn) => void new Seat(trial, ROOM, closes, 'yjs').dial(frames[turn % frames.length]),
  );
}

export async function longBodies(trial: Trial): Promise<Company> {
  const body = JSON.stringify({ id: ROOM, metadata: { long: 'x'.repeat(LIMITS.longBodies.bytes) } });
  return requests(trial, LIMITS.longBodies.perSecond, [{ method: 'POST', path: '/v2/rooms', body }]);
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
];

/** As y-websocket says it. */
function updateFrame(update: Uint8Array): Buffer {
  const encoder = encoding.createEncoder();
  encoding.writeVarUint(encoder, 0);
  encoding.writeVarUint(encoder, 2);
  encoding.writeVarUint8Array(encoder, update);
  return Buffer.from(encoding.toUint8Array(encoder));
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

function paced(refused: { readonly count: number }, perSecond: number, act: (turn: number) => void): Refusable {
  let turn = 0;
  const stop = startPace({ senders: 1, perSecond, send: () => act(turn++) });
  return {
    refused: () => refused.count,
    stop() {
      stop();
      return [];
    },
  };
}
