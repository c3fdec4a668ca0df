import { expect, test } from 'vitest';
import * as Y from 'yjs';
import { DocumentLine } from '../../src/room/document-line.ts';
import { DocumentsAhead } from '../../src/room/documents-ahead.ts';
import type { Command, RoomState } from '../../src/room/shapes.ts';
import { isLongToRead } from '../../src/room/ydoc/long.ts';
import { decodeYdoc, encodeYdoc, factsOf } from '../../src/room/ydoc/ydoc.ts';
import { aRoom, id, newcomer, READER, say } from '../support/a-room.ts';
import { manualClock } from '../support/manual-clock.ts';

/** A room with ann and bob, on a worker on which each look at the clock takes a millisecond; `turn` is as long as a slice and its rest. */
function aWorker({ kind = 'yjs' as 'sdk' | 'yjs' } = {}) {
  const clock = manualClock();
  let looks = 0;
  let collections = 0;
  const documents = new DocumentsAhead({ ...clock, monotonicMs: () => looks++ }, () => {
    collections += 1;
  });
  const room = aRoom();
  for (const name of ['ann', 'bob']) say(room, { type: 'session.join', newcomer: { ...newcomer(name), kind } });
  const decided: Command[] = [];
  const refused: string[] = [];
  const decide = (command: Command): void => {
    decided.push(command);
    say(room, command);
  };
  const shell = {
    room,
    isFull: false,
    mustTake: () => undefined,
    answer: async (command: Command) => {
      decide(command);
      return `answer ${decided.length}`;
    },
    take: decide,
    refuse: (command: Command, error: unknown) => void refused.push(`${command.type} ${(error as Error).message}`),
    tell: decide,
  };
  const line = new DocumentLine({ clock, documents }, shell);
  const turn = async (): Promise<void> => {
    clock.advance(10);
    for (let settling = 0; settling < 20; settling += 1) await null;
  };
  const turns = async (count: number): Promise<void> => {
    for (let at = 0; at < count; at += 1) await turn();
  };
  const tell = (command: Command): void => {
    if (!line.takes(command)) decide(command);
  };
  return { room, shell, line, documents, decided, refused, turns, tell, collections: () => collections };
}

/** A text of so many pictures, none of which Yjs joins. */
function pictures(clientID: number, count: number): Y.Doc {
  const ydoc = new Y.Doc();
  ydoc.clientID = clientID;
  ydoc.getText('text').applyDelta(Array.from({ length: count }, (_, index) => ({ insert: { image: index } })));
  return ydoc;
}

/** A room's document as it is when the room has been loaded. */
function store(room: RoomState, ydoc: Y.Doc): void {
  const doc = decodeYdoc(Y.encodeStateAsUpdate(ydoc));
  room.ydocs.set('', decodeYdoc(encodeYdoc(doc), factsOf(doc)));
}

const A_REQUEST = { id: 'one', digest: 'a digest' };

const change = (from: string | null, update: Uint8Array): Command => ({
  type: 'ydoc.change',
  from: from === null ? null : id(from),
  guid: '',
  update,
});
const jsonOf = ({ ydocs }: RoomState): unknown => {
  const copy = new Y.Doc();
  Y.applyUpdate(copy, encodeYdoc(ydocs.get('')!));
  return copy.getText('text').toDelta();
};

test('[DO9] an update of thousands of structs is decided in pieces, a turn for each; others are heard meanwhile', async () => {
  const { room, decided, turns, tell } = aWorker();
  const ydoc = pictures(9, 3_000);
  tell(change('ann', Y.encodeStateAsUpdate(ydoc)));
  expect(decided).toEqual([]);
  await turns(6);
  expect(decided.length).toBeGreaterThan(1);
  expect(decided.length).toBeLessThan(8);
  const other = new Y.Doc();
  other.getText('other').insert(0, 'of bob');
  tell(change('bob', Y.encodeStateAsUpdate(other)));
  expect(decided.at(-1)).toMatchObject({ from: 'bob' });
  await turns(200);
  expect(decided).toHaveLength(13); // 250 structs each
  expect(Math.max(...decided.map((command) => (command.type === 'ydoc.change' ? command.update.length : 0)))).toBeLessThan(5_000);
  expect(jsonOf(room)).toEqual(ydoc.getText('text').toDelta());
});

test('[DO11] what Yjs makes of it is collected after each four turns', async () => {
  const { turns, tell, collections } = aWorker();
  tell(change('ann', Y.encodeStateAsUpdate(pictures(9, 3_000))));
  await turns(200); // twelve pieces, and the scan before
  expect(collections()).toBeGreaterThanOrEqual(3);
  expect(collections()).toBeLessThanOrEqual(5);
});

test('[DO9] what a session says after a long update is decided after it, its parting, too', async () => {
  const { decided, turns, tell } = aWorker();
  const ydoc = pictures(9, 2_000);
  const last: Uint8Array[] = [];
  tell(change('ann', Y.encodeStateAsUpdate(ydoc)));
  ydoc.on('update', (update: Uint8Array) => last.push(update));
  ydoc.getText('text').delete(0, 1);
  tell(change('ann', last[0]!));
  tell({ type: 'session.leave', sessionId: id('ann') });
  tell({ type: 'presence.patch', from: id('bob'), data: { x: 1 }, targetActor: null } as never);
  expect(decided.map(({ type }) => type)).toEqual(['presence.patch']);
  await turns(200);
  expect(decided.slice(-2)).toEqual([change('ann', last[0]!), { type: 'session.leave', sessionId: id('ann') }]);
});

test('[DO9] of a request the last piece is the answer, and the only one that is known by its key', async () => {
  const { line, decided, turns } = aWorker();
  const command = { ...change(null, Y.encodeStateAsUpdate(pictures(9, 2_000))), request: A_REQUEST } as Command;
  const heard: unknown[] = [];
  void line.act(command)!.then((answer) => heard.push(answer));
  await turns(3);
  expect(heard).toEqual([]);
  await turns(200);
  expect(heard).toEqual([`answer ${decided.length}`]);
  expect(decided.filter((piece) => 'request' in piece)).toEqual([decided.at(-1)]);
});

test('[DO9] what the update as a whole may not hold is refused before any of it is taken', async () => {
  const { decided, refused, turns, tell } = aWorker();
  const ydoc = pictures(9, 2_000);
  ydoc.getArray('list').push(Array.from({ length: 10_001 }, () => new Y.Doc({ guid: 'g' })));
  tell(change('ann', Y.encodeStateAsUpdate(ydoc)));
  await turns(50);
  expect(refused).toEqual([expect.stringMatching(/at most 10000 others/)]);
  expect(decided).toEqual([]);
});

test('[DO9] pieces wait while too much waits for the journal', async () => {
  const { shell, decided, turns, tell } = aWorker();
  tell(change('ann', Y.encodeStateAsUpdate(pictures(9, 2_000))));
  shell.isFull = true;
  await turns(20);
  const some = decided.length;
  await turns(20);
  expect(decided.length).toBe(some);
  shell.isFull = false;
  await turns(200);
  expect(decided.length).toBeGreaterThan(some + 5);
});

test('[DO10] an edit that has to be tried waits until a stored document is read, those that need not be do not', async () => {
  const { room, decided, turns, tell } = aWorker();
  const ydoc = pictures(9, 3_000);
  store(room, ydoc);
  expect(isLongToRead(room.ydocs.get('')!)).toBe(true);
  const plain = new Y.Doc();
  plain.getText('other').insert(0, 'x');
  tell(change('bob', Y.encodeStateAsUpdate(plain)));
  expect(decided).toHaveLength(1);
  const tried = new Y.Doc();
  Y.applyUpdate(tried, Y.encodeStateAsUpdate(ydoc));
  const vector = Y.encodeStateVector(tried);
  for (let at = 0; at < 200; at += 1) tried.getText('text').insert((at * 37) % 3_000, 'here');
  const update = Y.encodeStateAsUpdate(tried, vector);
  tell(change('ann', update));
  expect(decided).toHaveLength(1);
  await turns(2);
  expect(decided).toHaveLength(1);
  await turns(200);
  expect(decided.at(-1)).toEqual(change('ann', update));
  expect(room.ydocs.get('')!.live).not.toBeNull();
  expect(jsonOf(room)).toEqual(tried.getText('text').toDelta());
});

test('[DO10] nobody waits who asks for a stored document; who reads it as JSON does', async () => {
  const { room, line, decided, turns, tell } = aWorker({ kind: 'sdk' });
  store(room, pictures(9, 3_000));
  tell({ type: 'ydoc.fetch', from: id('ann'), guid: '', vector: Uint8Array.of(0) });
  expect(decided).toHaveLength(1);
  expect(line.act({ type: 'ydoc.read', guid: '' })).toBeNull();
  const answer = line.act({ type: 'ydoc.json', key: null, kind: null, formatting: false } as never)!;
  await turns(200);
  expect(await answer).toBe('answer 2');
});

test('[DO9] what is refused for its bytes is refused without being decided', async () => {
  const { decided, refused, turns, tell } = aWorker();
  const nested = Buffer.concat([
    Buffer.from([1, 1, 7, 0, 8, 1, 5]),
    Buffer.from('array'),
    Buffer.from([1]),
    ...Array.from({ length: 200_000 }, () => Buffer.from([117, 1])),
    Buffer.from([126, 0]),
  ]);
  tell(change('ann', nested));
  await turns(1);
  expect(refused).toEqual([expect.stringMatching(/nested|deep/)]);
  expect(decided).toEqual([]);
});

test('[DO9] of deletions none is lost, however many there are of somebody who wrote nothing with them', async () => {
  const { room, line, turns } = aWorker();
  const ydoc = new Y.Doc();
  ydoc.getText('text').insert(0, 'x'.repeat(8_000));
  store(room, ydoc);
  const vector = Y.encodeStateVector(ydoc);
  ydoc.transact(() => {
    for (let at = 0; at < 3_000; at += 1) ydoc.getText('text').delete(at, 1);
    ydoc.getText('other').insert(0, 'y'.repeat(20_000));
  });
  void line.act(change(null, Y.encodeStateAsUpdate(ydoc, vector)));
  await turns(300);
  const copy = new Y.Doc();
  Y.applyUpdate(copy, encodeYdoc(room.ydocs.get('')!));
  expect([copy.getText('text').length, copy.getText('other').length]).toEqual([5_000, 20_000]);
});

test('[DO9] a request whose key was used for something else leaves nothing of it', async () => {
  const { room, line, turns } = aWorker();
  say(room, { ...change(null, Y.encodeStateAsUpdate(pictures(5, 1))), request: A_REQUEST } as Command);
  const asked = {
    ...change(null, Y.encodeStateAsUpdate(pictures(9, 3_000))),
    request: { ...A_REQUEST, digest: 'other' },
  } as Command;
  const heard = line.act(asked)!.catch((error: Error) => error.message);
  await turns(100);
  expect(await heard).toMatch(/Idempotency-Key was used before/);
  expect([...room.ydocs.get('')!.known.keys()]).toEqual([5]);
});

test('[DO9] who may not write any more is told so once', async () => {
  const { room, decided, turns, tell } = aWorker();
  tell(change('ann', Y.encodeStateAsUpdate(pictures(9, 10_000))));
  await turns(20);
  const before = decided.length;
  say(room, { type: 'session.permit', sessionId: id('ann'), permissions: READER });
  await turns(200);
  expect(decided.length).toBe(before + 1);
});

test('[DO9] others leave at once, and those who said much after it, however much that was', async () => {
  const { room, turns, tell } = aWorker();
  const ydoc = pictures(9, 3_000);
  tell(change('ann', Y.encodeStateAsUpdate(ydoc)));
  const sent: Uint8Array[] = [];
  ydoc.on('update', (update: Uint8Array) => sent.push(update));
  for (let at = 0; at < 999; at += 1) ydoc.getText('text').insert(0, 'a');
  for (const update of sent) tell(change('ann', update));
  tell({ type: 'session.leave', sessionId: id('ann') });
  tell({ type: 'session.leave', sessionId: id('bob') });
  expect([...room.sessions.keys()]).toEqual(['ann']);
  await turns(400);
  expect([...room.sessions.keys()]).toEqual([]);
  expect(jsonOf(room)).toEqual(ydoc.getText('text').toDelta());
});

test('[DO10] where too many documents are read, whoever needs another one is not made to wait', () => {
  const clock = manualClock();
  const documents = new DocumentsAhead({ ...clock, monotonicMs: clock.monotonicMs });
  const room = aRoom();
  store(room, pictures(9, 3_000));
  const { base } = room.ydocs.get('')!;
  const begun = Array.from({ length: 600 }, () => documents.prepare([decodeYdoc(base)], ['read']));
  expect(begun.filter((reading) => reading === null).length).toBeGreaterThan(90);
});

test('[DO9] updates of all rooms that wait have one bound, and give back what they took of it', async () => {
  const { line, documents, turns, tell } = aWorker();
  const update = Y.encodeStateAsUpdate(pictures(9, 3_000));
  const answered = line.act(change(null, update))!;
  expect(documents.updates.bytes).toBe(update.length);
  documents.updates.came(64 * 1024 * 1024);
  expect(() => line.act(change(null, update))).toThrow(expect.objectContaining({ code: 'ROOM_OVERLOADED' }));
  expect(() => tell(change('ann', update))).toThrow(expect.objectContaining({ code: 'ROOM_OVERLOADED' }));
  documents.updates.went(64 * 1024 * 1024);
  tell(change('ann', update));
  await turns(200);
  await answered;
  expect(documents.updates.bytes).toBe(0);
});
