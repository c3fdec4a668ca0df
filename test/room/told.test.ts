import { expect, test } from 'vitest';
import { asSessionId } from '../../src/base/ids.ts';
import { awarenessFrame, encodeAwareness, joinAwareness, updateFrame } from '../../src/protocol/yjs-frames.ts';
import { Told } from '../../src/room/told.ts';

const old = asSessionId('w-1');
const now = asSessionId('w-2');

test('[RJ1] a session that joins anew says who it is and asks for what it followed, and nothing else', () => {
  const told = new Told();
  expect(told.again(now)).toEqual([]);
  told.note({ type: 'presence.patch', from: old, data: { x: 1, y: 1 }, targetActor: -1 });
  told.note({ type: 'presence.patch', from: old, data: { y: 2 }, targetActor: null });
  told.note({ type: 'storage.fetch', from: old });
  told.note({ type: 'storage.change', from: old, ops: [] });
  told.note({ type: 'event.broadcast', from: old, event: 1 });
  told.note({ type: 'ydoc.fetch', from: old, guid: '', vector: new Uint8Array([0]) });
  told.note({ type: 'ydoc.fetch', from: old, guid: 'sub', vector: new Uint8Array([1]) });
  expect(told.again(now)).toEqual([
    { type: 'presence.patch', from: now, data: { x: 1, y: 2 }, targetActor: -1 },
    { type: 'storage.fetch', from: now },
    { type: 'ydoc.fetch', from: now, guid: '', vector: new Uint8Array([0]) },
    { type: 'ydoc.fetch', from: now, guid: 'sub', vector: new Uint8Array([1]) },
  ]);
});

test('[YD42] in which encoding it takes hashes is told again with each document', () => {
  const told = new Told();
  const fetch = { type: 'ydoc.fetch', from: old, vector: new Uint8Array([0]) } as const;
  told.note({ ...fetch, guid: '', encoding: 'V2' });
  told.note({ ...fetch, guid: 'sub' });
  const again = { ...fetch, from: now, encoding: 'V2' };
  expect(told.again(now)).toEqual([
    { ...again, guid: '' },
    { ...again, guid: 'sub' },
  ]);
});

test('[RJ1] a copy of its presence for one newcomer is older than what was said before it', () => {
  const told = new Told();
  told.note({ type: 'presence.patch', from: old, data: { selected: 'new' }, targetActor: null });
  told.note({ type: 'presence.patch', from: old, data: { selected: 'old', name: 'ann' }, targetActor: 7 });
  expect(told.again(now)).toEqual([
    { type: 'presence.patch', from: now, data: { selected: 'new', name: 'ann' }, targetActor: -1 },
  ]);
});

test('[RJ2] of awareness, the newest state of the client itself is told again, not what it echoed', () => {
  const told = new Told();
  const state = (clientId: number, clock: number) => encodeAwareness([{ clientId, clock, state: { at: clock } }]);
  told.note({ type: 'awareness.change', from: old, update: state(7, 1) });
  told.note({ type: 'awareness.change', from: old, update: state(8, 5) });
  told.note({ type: 'awareness.change', from: old, update: state(7, 2) });
  told.note({ type: 'awareness.change', from: old, update: new Uint8Array([]) });
  expect(told.again(now)).toEqual([{ type: 'awareness.change', from: now, update: state(7, 2) }]);
});

test('[RJ17] what a client has heard of another is not its own state, though it alone repeats it; what it says beyond that is', () => {
  const told = new Told();
  const state = (clientId: number, clock: number) => encodeAwareness([{ clientId, clock, state: { at: clock } }]);
  const hears = (...updates: Uint8Array[]) =>
    told.heard(updates.map((update) => ({ data: awarenessFrame(update), droppable: true })));
  told.heard([
    { data: '[]', droppable: false },
    { data: updateFrame(new Uint8Array([0, 0])), droppable: false },
  ]);
  hears(joinAwareness([state(8, 5), state(7, 3)]), state(9, 1));
  for (const [clientId, clock] of [
    [8, 5],
    [8, 4],
    [9, 1],
    [7, 3],
  ] as const)
    told.note({ type: 'awareness.change', from: old, update: state(clientId, clock) });
  expect(told.again(now)).toEqual([]);
  told.note({ type: 'awareness.change', from: old, update: state(7, 4) }); // it was here before under this id
  hears(state(8, 6));
  told.note({ type: 'awareness.change', from: old, update: state(8, 6) });
  expect(told.again(now)).toEqual([{ type: 'awareness.change', from: now, update: state(7, 4) }]);
});

test('[RJ15] what is told again has memory of its own', () => {
  const told = new Told();
  const shared = new Uint8Array(8_192);
  const update = encodeAwareness([{ clientId: 7, clock: 1, state: { at: 1 } }]);
  shared.set(update, 100);
  told.note({ type: 'awareness.change', from: old, update: shared.subarray(100, 100 + update.length) });
  told.note({ type: 'ydoc.fetch', from: old, guid: '', vector: shared.subarray(100, 110) });
  for (const command of told.again(now)) {
    const { buffer, length } = command.type === 'ydoc.fetch' ? command.vector : (command as { update: Uint8Array }).update;
    expect(buffer.byteLength).toBe(length);
  }
});

test('[RJ16] of documents that it asked for, as many are told again as a room may have, and a long state vector as none', () => {
  const told = new Told();
  const fetch = (guid: string, vector: Uint8Array) => told.note({ type: 'ydoc.fetch', from: old, guid, vector });
  for (let number = 0; number < 1_100; number += 1) fetch(`doc-${number}`, new Uint8Array([1, 2, number & 127]));
  fetch('doc-0', new Uint8Array(16 * 1024 + 1).fill(1));
  const commands = told.again(now);
  expect(commands).toHaveLength(1_000);
  expect(commands[0]).toEqual({ type: 'ydoc.fetch', from: 'w-2', guid: 'doc-0', vector: new Uint8Array([0]) });
});
