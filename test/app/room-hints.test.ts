import { expect, test } from 'vitest';
import { RoomHints } from '../../src/app/room-hints.ts';
import { asRoomId } from '../../src/base/ids.ts';
import type { Command } from '../../src/room/shapes.ts';
import { manualClock } from '../support/manual-clock.ts';

const settled = (): Promise<void> => new Promise((resolve) => setImmediate(resolve));

/** Rooms that answer when they are let; what each has heard. */
function aWorld() {
  const clock = manualClock();
  const heard: string[] = [];
  const answers: ((wasTold: boolean) => void)[] = [];
  const tellIfAwake = (roomId: string, command: Command): Promise<boolean> => {
    heard.push(`${roomId} ${command.type === 'ydoc.read' && command.guid}`);
    return new Promise((resolve) => answers.push(resolve));
  };
  const hints = new RoomHints({ rooms: { tellIfAwake }, clock });
  const tell = (room: string, what: number): Promise<boolean> =>
    hints.tell({ roomId: asRoomId(room), command: { type: 'ydoc.read', guid: String(what) }, atMs: clock.nowMs() });
  const answer = async (wasTold = true): Promise<void> => {
    answers.shift()!(wasTold);
    await settled();
  };
  return { clock, heard, tell, answer };
}

test('[CM66] each room hears in order, one after the other, and none waits for another', async () => {
  const { heard, tell, answer } = aWorld();
  for (const what of [1, 2]) for (const room of ['slow', 'other']) void tell(room, what);
  await settled();
  expect(heard).toEqual(['slow 1', 'other 1']);
  await answer();
  expect(heard.slice(2)).toEqual(['slow 2']);
  await answer();
  expect(heard.slice(3)).toEqual(['other 2']);
});

test('[CM66] a room that has heard all is told at once again', async () => {
  const { heard, tell, answer } = aWorld();
  void tell('room', 1);
  await answer();
  void tell('room', 2);
  expect(heard).toEqual(['room 1', 'room 2']);
});

test('[CM66] what waits longer than five minutes is lost, and what is more than a thousand', async () => {
  const { clock, heard, tell, answer } = aWorld();
  for (let what = 0; what <= 1_001; what += 1) void tell('room', what);
  for (let what = 0; what <= 1_000; what += 1) await answer();
  expect([heard.length, heard.at(-1)]).toEqual([1_001, 'room 1000']);
  void tell('room', 2_000);
  void tell('room', 2_001);
  clock.advance(300_000);
  void tell('room', 2_002);
  clock.advance(1);
  await answer();
  expect(heard.slice(1_001)).toEqual(['room 2000', 'room 2002']);
});

test('[FE22] whoever tells a room learns whether it heard: not where it could not be reached, or has too much to hear', async () => {
  const { clock, tell, answer } = aWorld();
  const [heard, unreached] = [tell('room', 1), tell('room', 2)];
  await answer();
  await answer(false);
  expect([await heard, await unreached]).toEqual([true, false]);
  void tell('room', 3);
  const late = tell('room', 4);
  for (let what = 5; what < 1_004; what += 1) void tell('room', what);
  expect(await tell('room', 1_004)).toBe(false);
  clock.advance(300_001);
  await answer();
  expect(await late).toBe(false);
});
