import { describe, expect, test } from 'vitest';
import { pack, unpack } from '../../src/base/binary.ts';
import type { RequestKey } from '../../src/base/ids.ts';
import { type Pieces, textIn } from '../../src/base/pieces.ts';
import { decodeRecords, encodeRecord } from '../../src/room/journal-record.ts';
import { ANSWER_CHARACTERS_MAX, REQUEST_AGE_MS_MAX, REQUESTS_MAX } from '../../src/room/recent-requests.ts';
import type { Command, Effect, RoomState } from '../../src/room/shapes.ts';
import { encodeSnapshot, replayRecord, restoreSnapshot } from '../../src/room/snapshot.ts';
import { aRoom, say } from '../support/a-room.ts';

const key = (id: string, digest = `of ${id}`): RequestKey => ({ id, digest });
const node = (serviceType: string, data: unknown) => ({ serviceType, data });
const ROOT = node('LiveObject', { list: node('LiveList', []), title: 'Plan' }) as never;
const INITIALIZE: Command = { type: 'storage.initialize', root: ROOT, typeKey: 'serviceType' };
const push = (value: string, request: RequestKey): Command => ({
  type: 'storage.patch',
  operations: [{ op: 'add', path: '/list/-', value }],
  request,
});
/** Client 5 types "a" into the text "t". */
const UPDATE = new Uint8Array([1, 1, 5, 0, 4, 1, 1, 116, 1, 97, 0]);

function withList(): RoomState {
  const room = aRoom();
  say(room, INITIALIZE);
  return room;
}

const replies = (effects: readonly Effect[]) => effects.filter((effect) => effect.type === 'reply');
const journaled = (effects: readonly Effect[]) => effects.flatMap((effect) => (effect.type === 'journal' ? [effect.record] : []));
const stored = (room: RoomState) => JSON.parse(textOf(room));
const textOf = (room: RoomState): string => {
  const [reply] = replies(say(room, { type: 'storage.read', format: 'json', typeKey: 'serviceType' }));
  return textIn((reply as { value: Pieces }).value);
};

/** The room as another owner finds it: a snapshot of `snapshot`, and what was journaled since. */
function takenOver(snapshot: Uint8Array | null, version: number, effects: readonly Effect[]): RoomState {
  const room = aRoom();
  if (snapshot !== null) restoreSnapshot(room, { version, bytes: snapshot });
  const payload = Buffer.concat(journaled(effects).map(encodeRecord));
  for (const record of decodeRecords(payload)) replayRecord(room, record);
  return room;
}

interface Case {
  readonly name: string;
  readonly room: () => RoomState;
  readonly command: Command;
}

const CASES: readonly Case[] = [
  { name: 'storage.initialize', room: aRoom, command: INITIALIZE },
  { name: 'storage.delete', room: withList, command: { type: 'storage.delete' } },
  { name: 'storage.delete of nothing', room: aRoom, command: { type: 'storage.delete' } },
  { name: 'storage.patch', room: withList, command: push('a', key('x')) },
  { name: 'storage.patch that changes nothing', room: aRoom, command: { type: 'storage.patch', operations: [] } },
  { name: 'storage.nodes', room: withList, command: { type: 'storage.nodes' } },
  {
    name: 'storage.send',
    room: withList,
    command: { type: 'storage.send', ops: [{ type: 3, id: 'root', opId: '7:1', data: { title: 'New' } }] },
  },
  { name: 'ydoc.change', room: aRoom, command: { type: 'ydoc.change', from: null, guid: '', update: UPDATE } },
  {
    name: 'presence.set',
    room: aRoom,
    command: { type: 'presence.set', userId: 'u', data: { x: 1 }, info: {}, ttlMs: 2_000 },
  },
  { name: 'event.broadcast', room: () => aRoom('ann'), command: { type: 'event.broadcast', from: null, event: 'hello' } },
];

describe.each(CASES)('$name', ({ room: makeRoom, command }) => {
  const request = key('one');
  const asked = { ...command, request } as Command;

  test('[ID4] sent again, it changes nothing, tells nobody, and gets its first answer when that is durable', () => {
    const room = makeRoom();
    const first = say(room, asked);
    const { version } = room;
    const text = textOf(room);
    const again = say(room, asked);
    expect(again).toEqual([{ ...replies(first)[0], when: 'durable' }]);
    expect(room.version).toBe(version);
    expect(textOf(room)).toBe(text);
  });

  test('[ID5] it is journaled in one decision with its change, and told when that is durable', () => {
    const room = makeRoom();
    const { version } = room;
    const first = say(room, asked);
    const records = journaled(first);
    expect(records.at(-1)).toMatchObject({ kind: 'request', id: 'one', digest: 'of one', atMs: 0 });
    expect(room.version - version).toBe(records.length);
    expect(replies(first)).toMatchObject([{ when: 'durable' }]);
  });

  test('[ID6] the next owner knows it from the journal', () => {
    const room = makeRoom();
    const before = encodeSnapshot(room);
    const { version } = room;
    const first = say(room, asked);
    const next = takenOver(before, version, first);
    expect(next.version).toBe(room.version);
    expect(say(next, asked)).toEqual([{ ...replies(first)[0], when: 'durable' }]);
    expect(textOf(next)).toBe(textOf(room));
  });

  test('[ID6] and from a snapshot', () => {
    const room = makeRoom();
    const first = say(room, asked);
    const next = takenOver(encodeSnapshot(room), room.version, []);
    expect(say(next, asked)).toEqual([{ ...replies(first)[0], when: 'durable' }]);
    expect(textOf(next)).toBe(textOf(room));
  });

  test('[ID7] the same key with another content, or another command, is refused', () => {
    const room = makeRoom();
    say(room, asked);
    const { version } = room;
    expect(() => say(room, { ...asked, request: key('one', 'else') } as Command)).toThrow(
      expect.objectContaining({ code: 'IDEMPOTENCY_KEY_REUSED', status: 422 }),
    );
    expect(room.version).toBe(version);
  });

  test('[ID8] without a key nothing is remembered', () => {
    const room = makeRoom();
    const { request: _, ...bare } = command as Command & { request?: RequestKey };
    expect(journaled(say(room, bare as Command)).map(({ kind }) => kind)).not.toContain('request');
    expect(room.requests.stored().slots).toHaveLength(0);
  });
});

test('[ID4] the first answer is given though the room has gone on: to an initialisation, to a deletion, to a send', () => {
  const room = aRoom();
  const initialize = { ...INITIALIZE, request: key('init') } as Command;
  const [first] = replies(say(room, initialize));
  say(room, push('later', key('later')));
  expect(say(room, initialize)).toEqual([first]);

  const remove: Command = { type: 'storage.delete', request: key('delete') };
  say(room, remove);
  say(room, INITIALIZE);
  say(room, remove);
  expect(stored(room)).toEqual({ list: [], title: 'Plan' });

  const send = (data: object, request: RequestKey): Command => ({
    type: 'storage.send',
    ops: [{ type: 3, id: 'root', opId: '7:1', data: data as never }],
    request,
  });
  const [sent] = replies(say(room, send({ title: 'A' }, key('a'))));
  say(room, send({ title: 'B' }, key('b')));
  expect(say(room, send({ title: 'A' }, key('a')))).toEqual([sent]);
  expect(stored(room)).toMatchObject({ title: 'B' });
});

test('[ID9] a refusal is not remembered: the next attempt is judged anew', () => {
  const room = aRoom();
  const request = key('late');
  expect(() => say(room, push('a', request))).toThrow(expect.objectContaining({ code: 'INVALID_STORAGE_MUTATION_REQUEST' }));
  expect(room.requests.stored().slots).toHaveLength(0);
  say(room, INITIALIZE);
  say(room, push('a', request));
  expect(stored(room).list).toEqual(['a']);
});

test('[ID3] of a send whose answer was too large to keep, the answer to a repetition is only that it happened', () => {
  const room = aRoom();
  const ops = [{ type: 3, id: 'root', opId: '7:1', data: { text: 'x'.repeat(ANSWER_CHARACTERS_MAX) } }] as const;
  const send: Command = { type: 'storage.send', ops, request: key('large') };
  const version = say(room, send).length > 0 && room.version;
  expect(say(room, send)).toEqual([{ type: 'reply', value: { ops: [] }, when: 'durable' }]);
  expect(room.version).toBe(version);
});

test('[ID2] after a day the same key is a new request', () => {
  const room = withList();
  say(room, push('a', key('a')), 0);
  say(room, push('a', key('a')), REQUEST_AGE_MS_MAX);
  expect(stored(room).list).toEqual(['a']);
  say(room, push('a', key('a')), REQUEST_AGE_MS_MAX + 1);
  expect(stored(room).list).toEqual(['a', 'a']);
});

test('[ID1][ID6] 10,000 requests are known to the next owner, half of them from the snapshot, half from the journal', () => {
  const room = withList();
  const half = REQUESTS_MAX / 2;
  const patch = (count: number): Command => ({
    type: 'storage.patch',
    operations: [{ op: 'add', path: '/count', value: count }],
    request: key(String(count)),
  });
  for (let count = 0; count < half; count += 1) say(room, patch(count), count);
  const [bytes, version] = [encodeSnapshot(room), room.version];
  const effects: Effect[] = [];
  for (let count = half; count < REQUESTS_MAX; count += 1) effects.push(...say(room, patch(count), count));
  const next = takenOver(bytes, version, effects);
  expect(next.version).toBe(room.version);
  for (let count = 0; count < REQUESTS_MAX; count += 1) say(next, patch(count), REQUESTS_MAX);
  expect(next.version).toBe(room.version);
  expect(stored(next)).toMatchObject({ count: REQUESTS_MAX - 1 });
});

test('[ID6] a snapshot of formats 2 and 3, which list requests, is read', () => {
  const room = withList();
  const request = key('listed');
  say(room, push('a', request));
  const { id, digest } = request;
  const older = unpack(encodeSnapshot(room)) as object;
  const next = aRoom();
  restoreSnapshot(next, {
    version: room.version,
    bytes: pack({ ...older, format: 3, requests: [[id, digest, 7, 'its answer']] }),
  });
  expect(next.requests.find(id, 8)).toEqual({ digest, atMs: 7, answer: 'its answer' });
  expect(next.requests.stored()).toMatchObject({ answers: [[id, 'its answer']] });
});

test('[ID6] a snapshot of the first format, which knows no requests, is read', () => {
  const room = withList();
  const { requests: _, ...older } = unpack(encodeSnapshot(room)) as { requests: unknown };
  const next = aRoom();
  restoreSnapshot(next, { version: room.version, bytes: pack({ ...older, format: 1 }) });
  expect(textOf(next)).toBe(textOf(room));
  expect(next.requests.stored().slots).toHaveLength(0);
  expect(() => restoreSnapshot(aRoom(), { version: 1, bytes: pack({ ...older, format: 5 }) })).toThrow(
    expect.objectContaining({ code: 'ROOM_UNREADABLE' }),
  );
});
