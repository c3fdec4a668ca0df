import { describe, expect, test } from 'vitest';
import { AppError } from '../../src/base/errors.ts';
import { asSessionId } from '../../src/base/ids.ts';
import { OP } from '../../src/protocol/storage-ops.ts';
import { FileCheck } from '../../src/room/file-check.ts';
import type { Command } from '../../src/room/shapes.ts';

const settled = (): Promise<void> => new Promise((resolve) => setImmediate(resolve));
const me = asSessionId('w-1');
const fileId = (letter: string): string => `fl_${letter.repeat(21)}`;
const data = (letter: string) => ({ id: fileId(letter), name: 'a', size: 1, mimeType: 'x' });

/** A check whose database answers when told. */
function aCheck() {
  const passed: Command[] = [];
  const failures: unknown[] = [];
  const looks: { ids: readonly string[]; answer(missing: string[]): void; fail(error: Error): void }[] = [];
  const check = new FileCheck({
    findMissing: (ids) => new Promise((answer, fail) => looks.push({ ids, answer, fail })),
    pass: (commands) => void passed.push(...commands),
    failed: (error) => void failures.push(error),
  });
  const event = (n: number): Command => ({ type: 'event.broadcast', from: me, event: n });
  const change = (...letters: string[]): Command => ({
    type: 'storage.change',
    from: me,
    ops: letters.map((letter, n) => ({
      type: OP.CREATE_FILE,
      id: `1:${n}`,
      opId: `1:${n}`,
      parentId: 'root',
      parentKey: letter,
      data: data(letter),
    })),
  });
  const take = (frame: string, ...commands: Command[]) => check.take(commands, frame.length);
  return { check, passed, failures, looks, take, event, change };
}

describe('files in frames', () => {
  test('[FC1] what names no file passes at once, and nobody is asked', () => {
    const { take, event, passed, looks } = aCheck();
    const plain: Command = { type: 'storage.change', from: me, ops: [{ type: OP.DELETE_CRDT, id: '1:0', opId: '1:1' }] };
    expect(take('a', event(1), plain)).toBe('passed');
    expect([passed, looks]).toEqual([[event(1), plain], []]);
  });

  test('[FC2] what names files waits for one question about all of a frame, and passes as it came when the room has them', async () => {
    const { take, change, event, passed, looks } = aCheck();
    expect(take('a', change('a', 'b'), event(1), change('c'))).toBe('held');
    expect([passed, looks.map(({ ids }) => ids)]).toEqual([[], [[fileId('a'), fileId('b'), fileId('c')]]]);
    looks[0]!.answer([]);
    await settled();
    expect(passed).toEqual([change('a', 'b'), event(1), change('c')]);
  });

  test('[FC3] each command says which of its files are missing', async () => {
    const { take, change, event, passed, looks } = aCheck();
    take('a', change('a', 'b'), event(1), change('c'), change('b'));
    looks[0]!.answer([fileId('b')]);
    await settled();
    const missingFiles = [fileId('b')];
    expect(passed).toEqual([{ ...change('a', 'b'), missingFiles }, event(1), change('c'), { ...change('b'), missingFiles }]);
  });

  test('[FC4] what comes behind waits, and passes in its order, past further questions', async () => {
    const { take, change, event, passed, looks } = aCheck();
    const outcomes = [take('a', change('a')), take('b', event(1)), take('c', change('c')), take('d', event(2))];
    expect(outcomes).toEqual(['held', 'held', 'held', 'held']);
    expect(looks).toHaveLength(1);
    looks[0]!.answer([]);
    await settled();
    expect([passed, looks.length]).toEqual([[change('a'), event(1)], 2]);
    expect(take('e', event(3))).toBe('held');
    looks[1]!.answer([]);
    await settled();
    expect(passed.slice(2)).toEqual([change('c'), event(2), event(3)]);
    expect(take('f', event(4))).toBe('passed');
  });

  test('[FC5] when the session ends, all that was held is handed back in order, and nothing of it is passed on', async () => {
    const { check, take, change, event, passed, looks } = aCheck();
    expect(check.end()).toEqual([]);
    take('a', change('a'));
    take('b', event(1), event(2));
    take('c', change('c'));
    expect(check.end()).toEqual([[change('a')], [event(1), event(2)], [change('c')]]);
    looks[0]!.answer([]);
    await settled();
    expect([passed, check.isLooking, looks.length]).toEqual([[], false, 1]);
  });

  test('[FC6] when nobody can say what is missing, that is told, and all stays held; not when it has ended by then', async () => {
    const { check, take, change, event, passed, failures, looks } = aCheck();
    take('a', change('a'));
    take('b', event(1));
    const away = new AppError('DATABASE_UNAVAILABLE');
    looks[0]!.fail(away);
    await settled();
    expect([passed, failures, check.end()]).toEqual([[], [away], [[change('a')], [event(1)]]]);
    take('a', change('a'));
    check.end();
    looks[1]!.fail(away);
    await settled();
    expect(failures).toEqual([away]);
  });

  test('[FC7] so much may wait, and no more', async () => {
    const { take, change, event, passed, looks } = aCheck();
    take('a', change('a'));
    for (let n = 0; n < 1_000; n++) expect(take('x', event(n))).toBe('held');
    expect(take('x', event(1_000))).toBe('too much');
    looks[0]!.answer([]);
    await settled();
    expect(passed).toHaveLength(1_001);
    take('a', change('a'));
    expect(take('x'.repeat(10 * 1024 * 1024 + 1), event(0))).toBe('too much');
    expect(take('x'.repeat(10 * 1024 * 1024), event(0))).toBe('held');
  });
});
