import { expect, test } from 'vitest';
import { AppError } from '../../src/base/errors.ts';
import { asRoomId } from '../../src/base/ids.ts';
import { openDoor } from '../../src/room/door.ts';
import type { Command } from '../../src/room/shapes.ts';
import { manualClock } from '../support/manual-clock.ts';

const ROOM = asRoomId('room');
const READ: Command = { type: 'storage.read', format: 'json', typeKey: 'liveblocksType' };
const WRITE: Command = { type: 'storage.delete' };
const PASSING: Command = { type: 'event.broadcast', from: null, event: 1 };
const AGAIN: Command = { type: 'storage.nodes', request: { id: 'a', digest: 'b' } };

/** A door to rooms that answer when told. */
function aDoor() {
  const clock = manualClock();
  const asked: { resolve(value: unknown): void; reject(error: unknown): void }[] = [];
  const ask = () => new Promise<never>((resolve, reject) => asked.push({ resolve: resolve as (value: unknown) => void, reject }));
  const journal = { oldestMs: 0 };
  const others = { isFull: () => false, close: async () => undefined };
  const router = { ask, askIfAwake: ask, tellIfAwake: async () => true };
  const door = openDoor({ clock, router, oldestAppendMs: () => journal.oldestMs, ...others });
  /** What became of it: nothing yet, an answer, or the code of its error. */
  const outcomeOf = async (question: Promise<unknown>): Promise<unknown> => {
    const coded = question.catch((error: AppError) => error.code);
    return Promise.race([coded, new Promise((resolve) => setImmediate(() => resolve('waits')))]);
  };
  return { clock, journal, door, asked, outcomeOf };
}

test('[DR1] a request whose room gives no answer hears after 11 s, and not before, what a read waited for, and that of all else the outcome is unknown', async () => {
  const { clock, journal, door, outcomeOf } = aDoor();
  const questions = [READ, WRITE, PASSING, AGAIN].flatMap((command) => [door.ask(ROOM, command), door.askIfAwake(ROOM, command)]);
  const outcomes = () => Promise.all(questions.map(outcomeOf));
  clock.advance(10_999);
  expect(new Set(await outcomes())).toEqual(new Set(['waits']));
  const late = door.ask(ROOM, READ);
  journal.oldestMs = 10_999;
  clock.advance(1);
  const [read, unknown] = ['DATABASE_UNAVAILABLE', 'OUTCOME_UNKNOWN'];
  expect(await outcomes()).toEqual([read, read, unknown, unknown, unknown, unknown, unknown, unknown]);
  await expect(questions[0]).rejects.toMatchObject({ facts: { reason: expect.stringContaining('10999 ms') } });
  journal.oldestMs = 5_499;
  clock.advance(11_000);
  expect(await outcomeOf(late)).toBe('NO_ANSWER');
});

test('[DR1] a long Yjs update has three seconds more for each of its megabytes', async () => {
  const { clock, door, outcomeOf } = aDoor();
  const asked = door.ask(ROOM, { type: 'ydoc.change', from: null, guid: '', update: new Uint8Array(7_000_000) });
  clock.advance(30_999);
  expect(await outcomeOf(asked)).toBe('waits');
  clock.advance(1);
  expect(await outcomeOf(asked)).toBe('OUTCOME_UNKNOWN');
});

test('[DR2] what came in time is answered as it came, refusals too, and leaves no timer', async () => {
  const { clock, door, asked, outcomeOf } = aDoor();
  const [answered, refused] = [door.ask(ROOM, READ), door.ask(ROOM, WRITE)];
  clock.advance(10_000);
  asked[0]!.resolve('text');
  asked[1]!.reject(new AppError('ROOM_MOVED'));
  expect([await outcomeOf(answered), await outcomeOf(refused)]).toEqual(['text', 'ROOM_MOVED']);
  clock.advance(60_000);
  expect([await outcomeOf(answered), await outcomeOf(refused)]).toEqual(['text', 'ROOM_MOVED']);
});

test('[DR4] a read that its owner did not answer has no outcome that could be unknown', async () => {
  const { door, asked, outcomeOf } = aDoor();
  const questions = [door.ask(ROOM, READ), door.askIfAwake(ROOM, READ), door.ask(ROOM, WRITE), door.ask(ROOM, READ)];
  for (const { reject } of asked.slice(0, 3)) reject(new AppError('OUTCOME_UNKNOWN'));
  asked[3]!.reject(new AppError('BLOBS_UNAVAILABLE'));
  const outcomes = await Promise.all(questions.map(outcomeOf));
  expect(outcomes).toEqual(['NO_ANSWER', 'NO_ANSWER', 'OUTCOME_UNKNOWN', 'BLOBS_UNAVAILABLE']);
});

test('[DR3] while 100 questions of a room are under way for which nobody waits any more, others of it are refused at once; once one has ended, one more is taken', async () => {
  const { clock, door, asked, outcomeOf } = aDoor();
  const late = Array.from({ length: 100 }, () => door.ask(ROOM, WRITE));
  expect(await outcomeOf(door.ask(ROOM, READ).catch(() => null))).toBe('waits'); // they are waited for still
  asked.pop()!.resolve(null);
  clock.advance(11_000);
  await Promise.allSettled(late);
  expect(await outcomeOf(door.ask(ROOM, READ))).toBe('ROOM_OVERLOADED');
  expect(await outcomeOf(door.askIfAwake(ROOM, READ))).toBe('ROOM_OVERLOADED');
  expect(await outcomeOf(door.ask(asRoomId('another'), READ))).toBe('waits');
  asked[7]!.reject(new AppError('OUTCOME_UNKNOWN'));
  await new Promise((resolve) => setImmediate(resolve));
  expect(await outcomeOf(door.ask(ROOM, READ))).toBe('waits');
});
