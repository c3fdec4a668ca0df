/** An edit whose answer its client missed, sent again with what was typed since behind it (protocol 6.3). */
import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import type { Json } from '../../../src/base/json.ts';
import { OP, type Op, type TextOperation, type UpdateTextOp } from '../../../src/protocol/storage-ops.ts';
import { replayOps } from '../../../src/room/storage/apply.ts';
import { dumpStorage, loadStorage } from '../../../src/room/storage/dump.ts';
import { textLength } from '../../../src/room/storage/text.ts';
import { UPDATES_MAX } from '../../../src/room/storage/text-history.ts';
import { lengthOf, outlineOf } from '../../../src/room/storage/text-outline.ts';
import { transform } from '../../../src/room/storage/text-transform.ts';
import type { Storage } from '../../../src/room/storage/tree.ts';
import { compactNodes, toJson } from '../../support/storage-documents.ts';
import { textOperations } from './arbitraries.ts';
import { createText, send, storageOf, untagged, updateText } from './ops.ts';

type Operations = readonly TextOperation[];

const insert = (index: number, text: string): TextOperation => ({ type: 'insert', index, text });
const aText = (text = 'abc') => storageOf(createText('1:0', '1:0', 'root', 'text', [[text]], 0));
const textIn = (storage: Storage): Json => toJson(storage).text ?? null;
const versionIn = (storage: Storage) => compactNodes(storage)[1]?.[5] as number;

/** Sends an edit of the version of now, and returns how it was applied. */
const saysSomething = (operation: TextOperation): boolean =>
  operation.type === 'insert' ? operation.text !== '' : operation.length > 0;

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

describe('what was typed behind an edit of which its client heard in another way than others', () => {
  const several = (max: number) => fc.array(textOperations(12), { maxLength: max });
  const lengthIn = (storage: Storage) => textLength((textIn(storage) ?? []) as [string][]);

  test('[LT11] is applied though the client had heard of updates behind the edit, which it read in a snapshot and did not know for its own', () => {
    const storage = aText();
    edit(storage, '2:0', [insert(3, 'd')]);
    edit(storage, '3:0', [insert(0, '>>')]);
    expect(resend(storage, [insert(5, 'd'), insert(0, '^'), insert(7, 'e')])).toMatchObject({
      ops: [insert(0, '^'), insert(7, 'e')],
    });
    expect(textIn(storage)).toEqual([['^>>abcde']]);
  });

  test('[LT11] is applied once, and nothing of the edit again, however many of the updates the client had heard of', () => {
    fc.assert(
      fc.property(textOperations(10), several(3), several(3), fc.nat(6), (sent, before, after, heard) => {
        fc.pre(sent.length > 0 && sent.every(saysSomething)); // as of an SDK client; ranges of nothing look like any other
        const storage = aText('0123456789');
        const history = before.map((ops, index) => edit(storage, `3:${index}`, ops));
        send(storage, updateText('2:0', '1:0', 0, sent));
        history.push(...after.map((ops, index) => edit(storage, `4:${index}`, ops)));
        const form = history.reduce<Operations>((ops, others, at) => (at < heard ? transform(ops, others, 'after') : ops), sent);
        const length = lengthIn(storage);
        const resent = [...form, insert(0, '^')];
        // What looks like the edit as another would know it is taken for that; then some of its ranges may count as typed behind it.
        fc.pre(!sent.some(({ type }) => type !== 'insert') || form.length === sent.length);
        resend(storage, resent);
        expect(lengthIn(storage)).toBe(length + 1);
        expect(resend(storage, resent)).toBeUndefined();
      }),
      { numRuns: 500 },
    );
  });

  test('[LT11] is applied though the room knows the edit by its op id alone, also after a load', () => {
    for (const next of [(storage: Storage) => storage, (storage: Storage) => loadStorage(dumpStorage(storage))]) {
      let storage = aText();
      edit(storage, '2:0', [insert(3, 'd'), { type: 'delete', index: 0, length: 1 }]);
      for (let count = 0; count <= UPDATES_MAX; count += 1) edit(storage, `3:${count}`, [insert(0, '>')]);
      storage = next(storage);
      const text = textIn(storage) as [string][];
      const edited = [insert(3, 'd'), { type: 'delete', index: 0, length: 1 } as const];
      expect(resend(storage, [...edited, insert(0, '^')])).toMatchObject({ ops: [insert(0, '^')] });
      expect(resend(storage, [...edited, insert(0, '^'), insert(0, '!')])).toMatchObject({ ops: [insert(0, '!')] });
      expect(textIn(storage)).toEqual([[`!^${text[0]![0]}`]]);
    }
  });

  test('[LT11] is given up when nothing of the edit but its id is known, as from a snapshot of older builds', () => {
    const storage = aText();
    edit(storage, '2:0', [insert(3, 'd')]);
    const { textOutlines: _, histories, ...stored } = JSON.parse(dumpStorage(storage) as string);
    const older = loadStorage(
      JSON.stringify({ ...stored, histories: histories.map(([id, { opIds }]: any) => [id, { opIds, updates: [] }]) }),
    );
    expect(resend(older, [insert(3, 'd'), insert(4, 'e')])).toBeUndefined();
    expect(textIn(older)).toEqual([['abcd']]);
  });

  test('[LT11] is applied where it comes when there is too much to move it over', () => {
    const storage = aText();
    edit(storage, '2:0', [insert(0, 'd')]);
    for (let count = 0; count < 600; count += 1) edit(storage, `3:${count}`, [insert(0, '>')]);
    const typed = Array.from({ length: 1_000 }, () => insert(0, '^'));
    resend(storage, [insert(0, 'd'), ...typed]);
    expect(lengthIn(storage)).toBe(3 + 1 + 600 + 1_000);
  });

  test('[LT11] does not move by what was typed behind the edit before', () => {
    const storage = aText();
    edit(storage, '2:0', [insert(0, 'd')]);
    const version = versionIn(storage);
    resend(storage, [insert(0, 'd'), insert(1, 'e')]);
    // Its base is older than what the message before brought.
    send(storage, updateText('2:0', '1:0', version, [insert(0, 'd'), insert(1, 'e'), insert(0, '^')]));
    expect(textIn(storage)).toEqual([['^deabc']]);
  });
});

describe('an edit that its client has made once more by itself', () => {
  const echo = [insert(0, 'd'), insert(1, 'e')];

  test.each([
    ['behind', [insert(3, 'X'), ...echo]],
    ['among', [insert(3, 'X'), ...echo, insert(0, 'Y')]],
  ])('[LT14] is applied once: it comes empty, and again %s what was typed later', (_, resent) => {
    const storage = aText();
    edit(storage, '2:0', echo);
    const version = versionIn(storage);
    for (let times = 0; times < 2; times += 1) {
      send(storage, updateText('2:0', '1:0', version, []), updateText('2:1', '1:0', version, [...resent]));
      expect(JSON.stringify(textIn(storage))).toBe(`[["${resent.length > 3 ? 'Y' : ''}deaXbc"]]`);
    }
  });

  test('[LT14] is an edit like any other when it does not come empty before', () => {
    const storage = aText();
    edit(storage, '2:0', echo);
    send(storage, updateText('2:9', '1:0', 1, []), updateText('2:1', '1:0', 1, [insert(0, 'X'), ...echo]));
    expect(textIn(storage)).toEqual([['deXdeabc']]);
  });
});

test('[LT11] so many operations belong to an edit, whatever its client has heard of', () => {
  fc.assert(
    fc.property(textOperations(12), fc.array(textOperations(12), { maxLength: 4 }), (sent, others) => {
      const form = others.reduce<Operations>((ops, update) => transform(ops, update, 'after'), sent);
      expect(lengthOf(outlineOf(sent), [...form, insert(0, '^'), { type: 'delete', index: 0, length: 1 }])).toBe(form.length);
    }),
  );
});
