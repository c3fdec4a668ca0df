/** Updates of texts that are taken back, as those of a session that may only read (protocol 5.7, 5.8). */
import fc from 'fast-check';
import { expect, test } from 'vitest';
import type { Op, UpdateTextOp } from '../../../src/protocol/storage-ops.ts';
import type { TextNode } from '../../../src/room/storage/nodes.ts';
import { UPDATES_MAX } from '../../../src/room/storage/text-history.ts';
import { atomically, type Storage } from '../../../src/room/storage/tree.ts';
import { createText, send, storageOf, updateText } from './ops.ts';

const TEXTS = ['1:0', '1:1'] as const;
const twoTexts = () => storageOf(...TEXTS.map((id) => createText(id, id, 'root', id, [['abc']])));
const textOf = (storage: Storage, id: string) => storage.nodes.get(id) as TextNode;

/** All that is remembered of the texts, as values. */
function remembered(storage: Storage) {
  const histories = TEXTS.map((id) => {
    const { data, version, history } = textOf(storage, id);
    const { old, young } = history.opIds.generations();
    const ids = [[...old], [...young]];
    return { data, version, updates: [...history.updates], characters: history.characters, ids };
  });
  return { histories, ids: storage.textOpIds.latest(), outlines: storage.textOpIds.latestNotes() };
}

/** An insert into one of the texts as it is now. */
function typed(storage: Storage, id: string, { opId, text }: { readonly opId: string; readonly text: string }): Op {
  return updateText(opId, id, textOf(storage, id).version, [{ type: 'insert', index: 0, text }]);
}

function takenBack(storage: Storage, work: () => void): void {
  atomically(storage, () => {
    work();
    return 'take back';
  });
}

test('[CB2] what edits did to text, version, op ids and history is taken back exactly, also when they were sent before, or filled the history', () => {
  const step = fc.record({ id: fc.constantFrom(...TEXTS), n: fc.nat(30), large: fc.nat(9), inner: fc.boolean() });
  fc.assert(
    fc.property(fc.array(step, { maxLength: 20 }), fc.array(step, { maxLength: 20 }), (before, undone) => {
      const storage = twoTexts();
      const apply = ({ id, n, large }: (typeof undone)[number]) => {
        const text = large === 0 ? 'x'.repeat(700_000) : 'x';
        send(storage, typed(storage, id, { opId: `2:${n}`, text }));
      };
      for (const one of before) apply(one);
      const expected = remembered(storage);
      takenBack(storage, () => {
        for (const one of undone) {
          if (one.inner) takenBack(storage, () => apply(one));
          else apply(one);
        }
      });
      expect(remembered(storage)).toEqual(expected);
    }),
    { numRuns: 60 },
  );
});

test('[CB2] more edits than are remembered are taken back, and those of before stay known', () => {
  const storage = twoTexts();
  const type = (count: number, actor: number) => {
    for (let n = 0; n < count; n += 1) send(storage, typed(storage, '1:0', { opId: `${actor}:${n}`, text: 'x' }));
  };
  type(UPDATES_MAX + 500, 2);
  const expected = remembered(storage);
  const [first] = expected.histories[0]!.updates;
  takenBack(storage, () => type(2 * UPDATES_MAX + 1, 3));
  expect(remembered(storage)).toEqual(expected);
  const again = updateText(first!.opId!, '1:0', 0, [...first!.operations]);
  expect((send(storage, again).replies as UpdateTextOp[])[0]!.ops).toEqual([]);
});

test('[CB2] an edit that may be taken back copies no history', () => {
  const storage = twoTexts();
  const { history } = textOf(storage, '1:0');
  const { updates, opIds } = history;
  takenBack(storage, () => send(storage, typed(storage, '1:0', { opId: '2:0', text: 'x' })));
  expect(textOf(storage, '1:0').history).toBe(history);
  expect(history.updates).toBe(updates);
  expect(history.opIds).toBe(opIds);
});
