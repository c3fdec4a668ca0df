import { expect, test } from 'vitest';
import { asRoomId } from '../../src/base/ids.ts';
import { textIn } from '../../src/base/pieces.ts';
import { CRDT } from '../../src/protocol/storage-ops.ts';
import { DocumentsAhead } from '../../src/room/documents-ahead.ts';
import { emptyRoom } from '../../src/room/room.ts';
import type { Command, RoomState } from '../../src/room/shapes.ts';
import { keptPieces, piecesOf, type TextForm } from '../../src/room/storage/texts.ts';
import { insertNode, setPlain } from '../../src/room/storage/tree.ts';
import { say } from '../support/a-room.ts';
import { manualClock } from '../support/manual-clock.ts';
import { nodesIn } from '../support/storage-documents.ts';

const LSON = { type: 'storage.read', format: 'plain-lson', typeKey: 'liveblocksType' } as const;
const PLAIN = { type: 'storage.read', format: 'json', typeKey: '' } as const;
const NODES: Command = { type: 'storage.nodes' };
const LINES = { format: 'lines' } as const;

const kept = (room: RoomState, form: TextForm) => keptPieces(room.storage, form);

function aRoom(nodes: number): RoomState {
  const room = emptyRoom(asRoomId('room'), { from: 1, to: 1_001 });
  for (let node = 0; node < nodes; node += 1) add(room, node);
  return room;
}

function add({ storage }: RoomState, node: number): void {
  insertNode(storage, { id: `1:${node}`, parent: storage.root, key: `key ${node}` }, { type: CRDT.REGISTER, data: node });
}

/** A worker on which each look at the clock takes a millisecond, so that a slice is 250 nodes and takes three; `turn` is as long as it and its rest. */
function aWorker() {
  const clock = manualClock();
  let looks = 0;
  let collections = 0;
  const documents = new DocumentsAhead({ ...clock, monotonicMs: () => looks++ }, () => {
    collections += 1;
  });
  const turn = async (): Promise<void> => {
    clock.advance(6);
    for (let settling = 0; settling < 10; settling += 1) await null;
  };
  return { documents, turn, collections: () => collections };
}

test('[DO5] a small document, or one that is there, waits for nothing', async () => {
  const { documents, turn } = aWorker();
  expect(documents.make(aRoom(998), PLAIN)).toBeNull();
  const room = aRoom(1_000);
  const made = documents.make(room, PLAIN);
  for (let turns = 0; turns < 20; turns += 1) await turn();
  await made;
  expect(documents.make(room, PLAIN)).toBeNull();
  expect(documents.make(room, LSON)).not.toBeNull();
  expect(documents.make(room, { type: 'storage.refers', fileIds: [] })).toBeNull();
});

test('[DO5] a large one is made a slice in each turn, one for all who ask, and is whole', async () => {
  const { documents, turn } = aWorker();
  const [one, other] = [aRoom(1_100), aRoom(1_100)];
  const done: string[] = [];
  const first = documents.make(one, LSON)!;
  void first.then(() => done.push('one'));
  expect(documents.make(one, LSON)).toBe(first);
  void documents.make(other, NODES)!.then(() => done.push('other'));
  for (let settling = 0; settling < 10; settling += 1) await null;
  for (let turns = 0; turns < 7; turns += 1) await turn();
  expect(done).toEqual([]); // five slices each, in turn, the very first at once
  await turn();
  expect(done).toEqual(['one']);
  await turn();
  expect(done).toEqual(['one', 'other']);
  expect(kept(one, LSON)).toEqual(piecesOf({ ...one.storage, texts: null }, LSON));
  expect(kept(other, LINES)).toEqual(piecesOf({ ...other.storage, texts: null }, LINES));
});

test('[DO11] nothing is collected for a text of Storage', async () => {
  const { documents, turn, collections } = aWorker();
  const made = documents.make(aRoom(5_000), PLAIN);
  for (let turns = 0; turns < 100; turns += 1) await turn();
  await made;
  expect(collections()).toBe(0);
});

test('[DO6] a room that changes meanwhile has its document begun anew', async () => {
  const { documents, turn } = aWorker();
  const room = aRoom(1_100);
  const made = documents.make(room, PLAIN)!;
  await turn();
  await turn();
  add(room, 2_000);
  for (let turns = 0; turns < 8; turns += 1) await turn();
  await made;
  expect(JSON.parse(textIn(kept(room, PLAIN)!))).toMatchObject({
    'key 0': 0,
    'key 1099': 1099,
    'key 2000': 2000,
  });
});

test('[DO6] a change that is refused meanwhile leaves each node in it once', async () => {
  const { documents, turn } = aWorker();
  const room = aRoom(1_100);
  const made = documents.make(room, NODES)!;
  await turn();
  const operations = [
    { op: 'remove', path: '/key 1' },
    { op: 'test', path: '/key 2', value: 'another' },
  ] as const;
  expect(() => say(room, { type: 'storage.patch', operations })).toThrow('Nothing was changed');
  for (let turns = 0; turns < 9; turns += 1) await turn();
  await made;
  const ids = nodesIn(textIn(kept(room, LINES)!)).map(([id]) => id);
  expect(ids).toHaveLength(1_101);
  expect(new Set(ids).size).toBe(1_101);
});

test('[DO6] in one that always changes the read goes on without it', async () => {
  const { documents, turn } = aWorker();
  const room = aRoom(1_100);
  const made = documents.make(room, PLAIN)!;
  for (let turns = 0; turns < 12; turns += 1) {
    await turn();
    setPlain(room.storage, room.storage.root, 'turn', turns);
  }
  await made;
  expect(kept(room, PLAIN)).toBeNull();
  const again = documents.make(room, PLAIN)!;
  for (let turns = 0; turns < 8; turns += 1) await turn();
  await again;
  expect(kept(room, PLAIN)).not.toBeNull();
});

test('[DO5] in two forms at once it is made once in each', async () => {
  const { documents, turn } = aWorker();
  const room = aRoom(1_100);
  const made = [documents.make(room, LSON), documents.make(room, PLAIN)];
  for (let turns = 0; turns < 3; turns += 1) await turn();
  expect(documents.make(room, LSON)).toBe(made[0]);
  expect(documents.make(room, PLAIN)).toBe(made[1]);
  for (let turns = 0; turns < 10; turns += 1) await turn();
  await Promise.all(made);
  expect([kept(room, LSON), kept(room, PLAIN)]).not.toContain(null);
});

test('[DO5] too many that wait are refused, and the next has its turn again', async () => {
  const { documents, turn } = aWorker();
  const outcomes = await Promise.race([
    Promise.all(
      Array.from({ length: 502 }, () =>
        documents.make(aRoom(1_000), PLAIN)!.then(
          () => 'made',
          (error: { code: string }) => error.code,
        ),
      ).slice(501),
    ),
    turn().then(() => ['nobody was refused']),
  ]);
  expect(outcomes).toEqual(['WORKER_OVERLOADED']);
});
