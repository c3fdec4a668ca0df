/** An edit whose answer its client missed, sent again with what was typed since behind it (protocol 6.3). */
import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import type { Json } from '../../../src/base/json.ts';
import { OP, type Op, type TextOperation, type UpdateTextOp } from '../../../src/protocol/storage-ops.ts';
import { replayOps } from '../../../src/room/storage/apply.ts';
import { toJson } from '../../../src/room/storage/lson.ts';
import { transform } from '../../../src/room/storage/text-transform.ts';
import { compactNodes, dumpStorage, loadStorage, type Storage } from '../../../src/room/storage/tree.ts';
import { textOperations } from './arbitraries.ts';
import { createText, send, storageOf, untagged, updateText } from './ops.ts';

type Operations = readonly TextOperation[];

const insert = (index: number, text: string): TextOperation => ({ type: 'insert', index, text });
const aText = (text = 'abc') => storageOf(createText('1:0', '1:0', 'root', 'text', [[text]], 0));
const textIn = (storage: Storage): Json => toJson(storage).text ?? null;
const versionIn = (storage: Storage) => compactNodes(storage)[1]?.[5] as number;

/** Sends an edit of the version of now, and returns how it was applied. */
function edit(storage: Storage, opId: string, ops: Operations): Operations {
  const [reply] = send(storage, updateText(opId, '1:0', versionIn(storage), [...ops])).replies as [UpdateTextOp];
  return reply.type === OP.UPDATE_TEXT ? reply.ops : [];
}

/** What its sender is told of the rest of a resent edit; undefined when nothing is. */
function resend(storage: Storage, ops: Operations): UpdateTextOp | undefined {
  const version = versionIn(storage);
  const [ack, rest] = send(storage, updateText('2:0', '1:0', version, [...ops])).replies as [UpdateTextOp, UpdateTextOp?];
  expect(ack).toMatchObject({ opId: '2:0', version, ops: [] });
  expect(rest?.opId).toBeUndefined();
  return rest;
}

describe('what was typed behind an edit whose answer was missed', () => {
  test('[LT10] is applied where it was typed, and told as an update of its own, to its client as well: it may have had the answer since', () => {
    const storage = aText();
    edit(storage, '2:0', [insert(3, 'd')]);
    edit(storage, '3:0', [insert(0, '>')]);
    const op = updateText('2:0', '1:0', 2, [insert(3, 'd'), insert(4, 'e'), insert(5, 'f')]) as UpdateTextOp;
    const rest = { ...untagged(op), version: 3, ops: [insert(5, 'e'), insert(6, 'f')] } as UpdateTextOp;
    expect(send(storage, op)).toMatchObject({
      replies: [{ ...op, version: 2, ops: [] }, rest],
      forwards: [rest],
      journal: [{ ...rest, opId: '2:0', sent: op.ops }],
    });
    expect(textIn(storage)).toEqual([['>abcdef']]);
  });

  test('[LT10] is applied once, however often it comes, and so is what is typed behind that', () => {
    const storage = aText();
    edit(storage, '2:0', [insert(3, 'd')]);
    const [first, second, third] = [insert(3, 'd'), insert(4, 'e'), insert(5, 'f')];
    expect(resend(storage, [first, second])).toMatchObject({ version: 2 });
    expect(resend(storage, [first, second])).toBeUndefined();
    expect(resend(storage, [first, second, third])).toMatchObject({ version: 3 });
    expect(textIn(storage)).toEqual([['abcdef']]);
  });

  test('[LT10] is found when its client had heard of some of the updates that the edit was moved over, and not of others', () => {
    for (const heard of [0, 1, 2]) {
      const storage = aText();
      for (const opId of ['3:0', '3:1']) edit(storage, opId, [insert(0, '<>')]);
      send(storage, updateText('2:0', '1:0', 0, [insert(1, 'X')]));
      resend(storage, [insert(1 + 2 * heard, 'X'), insert(2 + 2 * heard, 'Y')]);
      expect(textIn(storage)).toEqual([['<><>aXYbc']]);
    }
  });

  test('[LT10] is found after a load, and when the journal was replayed', () => {
    const live = aText();
    const replayed = aText();
    const journal: Op[] = [];
    for (const op of [updateText('3:0', '1:0', 0, [insert(0, '>')]), updateText('2:0', '1:0', 0, [insert(3, 'd')])])
      journal.push(...send(live, op).journal);
    replayOps(replayed, JSON.parse(JSON.stringify(journal)) as Op[]);
    for (const storage of [live, replayed, loadStorage(dumpStorage(replayed))]) {
      expect(resend(storage, [insert(3, 'd'), insert(4, 'e')])).toMatchObject({ version: 3, ops: [insert(5, 'e')] });
      expect(textIn(storage)).toEqual([['>abcde']]);
    }
  });

  test('[LT10] is given up when it does not begin with the edit as any client could know it', () => {
    const storage = aText();
    edit(storage, '2:0', [insert(3, 'd')]);
    expect(resend(storage, [insert(2, 'd'), insert(4, 'e')])).toBeUndefined();
    expect(textIn(storage)).toEqual([['abcd']]);
  });

  test('[LT10] comes out as if its client had heard of everything and sent it then', () => {
    const several = (max: number) => fc.array(textOperations(12), { maxLength: max });
    fc.assert(
      fc.property(
        textOperations(10),
        textOperations(12),
        several(3),
        several(2),
        fc.nat(3),
        (sent, behind, before, after, nth) => {
          fc.pre(sent.length > 0);
          const storage = aText('0123456789');
          const others = before.map((ops, index) => edit(storage, `3:${index}`, ops)).filter((ops) => ops.length > 0);
          send(storage, updateText('2:0', '1:0', 0, sent));
          const later = after.map((ops, index) => edit(storage, `4:${index}`, ops));
          const twin = loadStorage(dumpStorage(storage));

          const forms: Operations[] = [sent];
          for (const ops of others) forms.push(transform(forms.at(-1)!, ops, 'after'));
          const form = forms[Math.min(nth, others.length)]!;
          const resent = [...form, ...behind];
          // Where several fit nobody can tell which one it was; then the last of the longest counts.
          const fitting = forms.filter((one) => JSON.stringify(resent.slice(0, one.length)) === JSON.stringify(one));
          fc.pre(resent.length > 0 && fitting.every((one) => one.length <= form.length));
          const heard = forms.findLastIndex((one) => JSON.stringify(one) === JSON.stringify(form));
          let moved: Operations = behind;
          for (let index = heard; index < others.length; index += 1)
            moved = transform(moved, transform(others[index]!, forms[index]!, 'before'), 'after');
          for (const ops of later) moved = transform(moved, ops, 'after');

          resend(storage, resent);
          edit(twin, '2:1', moved);
          expect(textIn(storage)).toEqual(textIn(twin));
        },
      ),
      { numRuns: 500 },
    );
  });
});
