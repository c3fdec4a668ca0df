/** Entries of maps that an undo manager keeps: Yjs joins them into one struct of several values, all of them deleted. */
import { describe, expect, test } from 'vitest';
import * as Y from 'yjs';
import {
  decodeYdoc,
  emptyYdoc,
  encodeYdoc,
  factsOf,
  missingFor,
  snapshotHash,
  stateVector,
} from '../../../src/room/ydoc/ydoc.ts';
import { Dice } from '../../fuzz/dice.ts';
import { acceptAll, block, bytes } from './builders.ts';

/** A struct of the values 1, 2, 3 at key `key` of the root `map`. */
const SEVERAL = bytes(8 | 0x20, 1, 'map', 'key', 3, ...[1, 2, 3].map((number) => bytes(125, number)));

/** The update with that struct, and a delete set of ranges of its client, each from a clock and so long. */
function several(...ranges: readonly (readonly [clock: number, length: number])[]): Uint8Array {
  return bytes(block(1, 0, SEVERAL).slice(0, -1), 1, 1, ranges.length, ...ranges.flat());
}

function aMapWithUndo(): { ydoc: Y.Doc; map: Y.Map<unknown>; undo: Y.UndoManager } {
  const ydoc = new Y.Doc();
  const map = ydoc.getMap('map');
  return { ydoc, map, undo: new Y.UndoManager(map, { captureTimeout: 0 }) };
}

function hashOf(ydoc: Y.Doc): string {
  const doc = emptyYdoc();
  acceptAll(doc, [Y.encodeStateAsUpdate(ydoc)]);
  return snapshotHash(doc);
}

describe('an entry of several values', () => {
  test('[YD20] is what Yjs writes of a key that was set thrice under an undo manager, and it is taken', () => {
    const { ydoc, map } = aMapWithUndo();
    for (const value of [1, 2, 3]) map.set('key', value);
    const update = Y.encodeStateAsUpdate(ydoc);
    expect(Y.decodeUpdate(update).structs[0]).toMatchObject({ length: 2, parentSub: 'key' });
    const doc = emptyYdoc();
    acceptAll(doc, [update]);
    expect(missingFor(doc, Uint8Array.of(0))).toEqual(update);
  });

  test.each([
    ['by one range', several([0, 3])],
    ['by a wider one', several([0, 9])],
  ])('[YD20] is taken when its own update deletes it %s', (_, update) => {
    const doc = emptyYdoc();
    acceptAll(doc, [update]);
    expect([...stateVector(doc)]).toEqual([1, 1, 3]);
  });

  test.each([
    ['nothing of it', several()],
    ['only its beginning', several([0, 2])],
    ['only its end', several([1, 2])],
    ['it in pieces, as Yjs never writes them', several([0, 1], [1, 2])],
    ['another client', bytes(block(1, 0, SEVERAL).slice(0, -1), 1, 2, 1, 0, 3)],
  ])('[YD20] is refused when its update deletes %s', (_, update) => {
    expect(() => acceptAll(emptyYdoc(), [update])).toThrow(/several values/);
  });
});

test.each(Array.from({ length: 30 }, (_, seed) => seed))(
  '[YD20] maps under undo managers stay equal on both sides (seed %i)',
  (seed) => {
    const dice = new Dice(seed);
    const clients = [aMapWithUndo(), aMapWithUndo(), aMapWithUndo()];
    let doc = emptyYdoc();
    const sync = ({ ydoc }: { ydoc: Y.Doc }): void => {
      acceptAll(doc, [Y.encodeStateAsUpdate(ydoc, dice.chance(0.3) ? undefined : stateVector(doc))]);
      Y.applyUpdate(ydoc, missingFor(doc, Y.encodeStateVector(ydoc)));
    };
    for (let step = 0; step < 200; step += 1) {
      const client = dice.pick(clients);
      const { map, undo } = client;
      const inner = map.get('inner');
      const act = dice.weighted({ set: 6, unset: 2, undo: 2, redo: 1, nest: 1, setInner: 4, sync: 4 });
      if (act === 'set') map.set(dice.pick(['a', 'b']), step);
      else if (act === 'unset') map.delete(dice.pick(['a', 'b', 'inner']));
      else if (act === 'undo' || act === 'redo') undo[act]();
      else if (act === 'nest') map.set('inner', new Y.Map([['x', step]]));
      else if (act === 'setInner' && inner instanceof Y.Map) inner.set(dice.pick(['x', 'y']), step);
      else sync(client);
      if (dice.chance(0.02)) doc = decodeYdoc(encodeYdoc(doc), dice.chance(0.5) ? factsOf(doc) : null);
    }
    for (const client of [...clients, ...clients]) sync(client);
    for (const { map, ydoc } of clients) {
      expect(map.toJSON()).toEqual(clients[0]!.map.toJSON());
      expect(hashOf(ydoc)).toBe(snapshotHash(doc));
    }
  },
);
