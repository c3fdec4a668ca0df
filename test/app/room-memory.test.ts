import { expect, test } from 'vitest';
import { RoomMemory } from '../../src/app/room-memory.ts';
import { asIncarnation, asRoomId, type Incarnation } from '../../src/base/ids.ts';
import { UNTOLD_MS } from '../../src/room/room-changes.ts';
import { manualClock } from '../support/manual-clock.ts';

const ROOM = asRoomId('room');

/** A database that answers when told, or at once, and a memory of some age. */
async function aMemory({ ageMs = UNTOLD_MS } = {}) {
  const clock = manualClock();
  const world = { standing: asIncarnation('first') as Incarnation | null, room: 'before' as string | null, isSlow: false };
  const asked: string[] = [];
  const answers: (() => void)[] = [];
  const memory = new RoomMemory<string>({
    clock,
    standing: () => world.standing,
    async find(roomId) {
      asked.push(roomId);
      const { room } = world;
      if (world.isSlow) await new Promise<void>((resolve) => answers.push(resolve));
      return room;
    },
  });
  await memory.find(asRoomId('another'));
  clock.advance(ageMs);
  asked.length = 0;
  return { memory, world, clock, asked, answer: () => answers.shift()!() };
}

test('[AX4] a room is remembered for a second, one that is not there is not', async () => {
  const { memory, world, clock, asked } = await aMemory();
  expect([await memory.find(ROOM), await memory.find(ROOM)]).toEqual(['before', 'before']);
  clock.advance(999);
  await memory.find(ROOM);
  expect(asked).toHaveLength(1);
  world.room = null;
  clock.advance(1);
  expect([await memory.find(ROOM), await memory.find(ROOM)]).toEqual([null, null]);
  expect(asked).toHaveLength(3);
});

test('[AX4] that a room is not there is no answer to who asked later: it may have been made by then', async () => {
  const { memory, world, answer, asked } = await aMemory();
  world.isSlow = true;
  world.room = null;
  const first = memory.find(ROOM);
  world.room = 'made';
  const later = memory.find(ROOM);
  answer();
  expect(await first).toBeNull();
  answer();
  expect(await later).toBe('made');
  expect(asked).toHaveLength(2);
});

test('[AX5] what was read before a change is not remembered after it, nor shared with those who ask after it', async () => {
  const { memory, world, answer } = await aMemory();
  world.isSlow = true;
  const [first, shared] = [memory.find(ROOM), memory.find(ROOM)];
  world.room = 'after';
  memory.forget(ROOM);
  const later = memory.find(ROOM);
  answer();
  answer();
  expect([await first, await shared, await later, await memory.find(ROOM)]).toEqual(['before', 'before', 'after', 'after']);
});

test('[AX5] a late answer to who asked before a change does not overwrite what was asked after it', async () => {
  const { memory, world, answer, asked } = await aMemory();
  world.isSlow = true;
  const first = memory.find(ROOM);
  memory.forgetAll();
  world.isSlow = false;
  world.room = 'after';
  await memory.find(ROOM);
  answer();
  await first;
  expect(await memory.find(ROOM)).toBe('after');
  expect(asked).toHaveLength(2);
});

test('[AX6] without a lease nothing is remembered, and nothing from before the present one', async () => {
  const { memory, world } = await aMemory();
  await memory.find(ROOM);
  world.room = 'after';
  world.standing = null;
  expect(await memory.find(ROOM)).toBe('after');
  world.standing = asIncarnation('second');
  expect(await memory.find(ROOM)).toBe('after');
});

test('[AX15] who is new remembers nothing for as long as others may not know of it', async () => {
  const { memory, world, clock, asked } = await aMemory({ ageMs: UNTOLD_MS - 1 });
  await memory.find(ROOM);
  await memory.find(ROOM);
  clock.advance(1);
  await memory.find(ROOM);
  await memory.find(ROOM);
  expect(asked).toHaveLength(3);
  world.standing = asIncarnation('second');
  await memory.find(ROOM);
  await memory.find(ROOM);
  expect(asked).toHaveLength(5);
});

test('[AX4] a question that failed is asked again', async () => {
  const { memory, world } = await aMemory();
  const { room } = world;
  Object.defineProperty(world, 'room', {
    configurable: true,
    get: () => {
      throw new Error('away');
    },
  });
  await expect(memory.find(ROOM)).rejects.toThrow('away');
  Object.defineProperty(world, 'room', { value: room });
  expect(await memory.find(ROOM)).toBe('before');
});
