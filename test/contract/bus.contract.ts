/** What every bus must do. */
import { describe, expect, test } from 'vitest';
import { AppError } from '../../src/base/errors.ts';
import type { Incarnation } from '../../src/base/ids.ts';
import type { Bus, Envelope } from '../../src/kernel/cluster/bus.ts';

export interface BusUnderTest {
  readonly bus: Bus;
  /** Two workers on the bus and one that is not there. */
  readonly here: Incarnation;
  readonly there: Incarnation;
  readonly nowhere: Incarnation;
}

export function busContract(name: string, open: () => Promise<BusUnderTest>): void {
  describe(`bus: ${name}`, () => {
    const envelope = (from: Incarnation, payload: unknown): Envelope => ({ from, kind: 'test', payload });

    test('an ask brings back what the handler answered, at once or later', async () => {
      const { bus, here, there } = await open();
      bus.serve(there, async ({ from, kind, payload }) => ({ from, kind, payload }));
      expect(await bus.ask(there, envelope(here, { n: 1 }), { deadlineMs: 5_000 })).toEqual({
        from: here,
        kind: 'test',
        payload: { n: 1 },
      });
      bus.serve(there, ({ payload }) => payload);
      expect(await bus.ask(there, envelope(here, [1, null, 'x']), { deadlineMs: 5_000 })).toEqual([1, null, 'x']);
    });

    test('a refusal of the handler is thrown on to who asked', async () => {
      const { bus, here, there } = await open();
      bus.serve(there, () => {
        throw new AppError('ROOM_NOT_FOUND', { roomId: 'a' });
      });
      await expect(bus.ask(there, envelope(here, null), { deadlineMs: 5_000 })).rejects.toMatchObject({
        code: 'ROOM_NOT_FOUND',
        facts: { roomId: 'a' },
      });
    });

    test('what is told arrives in order, and a failing handler troubles nobody', async () => {
      const { bus, here, there } = await open();
      const seen: unknown[] = [];
      bus.serve(there, ({ payload }) => {
        seen.push(payload);
        if (payload === 1) throw new Error('no');
      });
      for (let n = 0; n < 5; n++) bus.tell(there, envelope(here, n));
      await bus.ask(there, envelope(here, 'last'), { deadlineMs: 5_000 });
      expect(seen).toEqual([0, 1, 2, 3, 4, 'last']);
    });

    test('asking a worker that is gone fails with ROOM_MOVED; telling it is forgotten', async () => {
      const { bus, here, nowhere } = await open();
      bus.tell(nowhere, envelope(here, null));
      await expect(bus.ask(nowhere, envelope(here, null), { deadlineMs: 5_000 })).rejects.toMatchObject({ code: 'ROOM_MOVED' });
    });
  });
}
