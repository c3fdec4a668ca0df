import { expect, test } from 'vitest';
import { MemoryBus } from '../../src/adapters/memory-bus.ts';
import { systemClock } from '../../src/base/clock.ts';
import { asIncarnation } from '../../src/base/ids.ts';
import { silentLog } from '../../src/base/observe.ts';
import { manualClock } from '../support/manual-clock.ts';
import { busContract } from './bus.contract.ts';

const [here, there, nowhere] = [asIncarnation('here'), asIncarnation('there'), asIncarnation('nowhere')];

busContract('memory', async () => ({ bus: new MemoryBus({ clock: systemClock, log: silentLog }), here, there, nowhere }));

test('an answer that does not come in time ends as ROOM_MOVED, not before', async () => {
  const clock = manualClock();
  const bus = new MemoryBus({ clock, log: silentLog });
  bus.serve(there, () => new Promise(() => undefined));
  let outcome: unknown = 'waiting';
  const asking = bus.ask(there, { from: here, kind: 'test', payload: null }, { deadlineMs: 1_000 }).catch((error: unknown) => {
    outcome = error;
  });
  clock.turn();
  clock.advance(999);
  await Promise.resolve();
  expect(outcome).toBe('waiting');
  clock.advance(1);
  await asking;
  expect(outcome).toMatchObject({ code: 'ROOM_MOVED' });
});

test('a message is never handled in the turn that sends it', () => {
  const clock = manualClock();
  const bus = new MemoryBus({ clock, log: silentLog });
  let isHandled = false;
  bus.serve(there, () => {
    isHandled = true;
  });
  bus.tell(there, { from: here, kind: 'test', payload: null });
  expect(isHandled).toBe(false);
});

test('a worker that left is gone', async () => {
  const bus = new MemoryBus({ clock: systemClock, log: silentLog });
  bus.serve(there, () => 'here I am');
  bus.leave(there);
  await expect(bus.ask(there, { from: here, kind: 'test', payload: null }, { deadlineMs: 1_000 })).rejects.toMatchObject({
    code: 'ROOM_MOVED',
  });
});
