/** What every bus must do. */
import { afterEach, describe, expect, test } from 'vitest';
import { AppError } from '../../src/base/errors.ts';
import type { WorkerAddress } from '../../src/base/ids.ts';
import type { Bus, Message } from '../../src/kernel/cluster/bus.ts';
import { until } from '../support/e2e/until.ts';

export interface BusNetwork {
  /** Another worker; or, with an address, another life of the worker that closed there. */
  join(address?: WorkerAddress): Promise<Bus>;
  /** Nobody is there. */
  readonly nowhere: WorkerAddress;
}

const DEADLINE = { deadlineMs: 5_000 };
const message = (payload: unknown): Message => ({ kind: 'test', payload });
const never = (): Promise<never> => new Promise(() => undefined);
const turn = (): Promise<void> => new Promise((resolve) => setImmediate(resolve));

/** Notes the addresses that `bus` names as down. */
function downs(bus: Bus): WorkerAddress[] {
  const heard: WorkerAddress[] = [];
  bus.onDown((address) => heard.push(address));
  return heard;
}

/** `asking` failed with this code. */
async function failsWith(asking: Promise<unknown>, code: string): Promise<void> {
  await expect(asking).rejects.toMatchObject({ code });
}

export function busContract(name: string, open: () => BusNetwork): void {
  describe(`bus: ${name}`, () => {
    const joined: Bus[] = [];
    afterEach(async () => {
      await Promise.all(joined.splice(0).map((bus) => bus.close()));
    });

    const join = async (network: BusNetwork, address?: WorkerAddress): Promise<Bus> => {
      const bus = await network.join(address);
      joined.push(bus);
      return bus;
    };
    /** Two workers that serve and one address where nobody is. */
    const pair = async () => {
      const network = open();
      const [here, there] = [await join(network), await join(network)];
      return { network, here, there, nowhere: network.nowhere };
    };

    test('[BU1] an ask brings back what the handler answered, at once or later, also nothing', async () => {
      const { here, there } = await pair();
      there.serve(async ({ kind, payload }, from) => ({ from, kind, payload }));
      expect(await here.ask(there.address, message({ n: 1 }), DEADLINE)).toEqual({
        from: here.address,
        kind: 'test',
        payload: { n: 1 },
      });
      there.serve(({ payload }) => payload);
      for (const value of [[1, null, 'x'], null, undefined, '', 0, false, new Uint8Array([0, 255]), { deep: [[[{}]]] }]) {
        expect(await here.ask(there.address, message(value), DEADLINE)).toEqual(value);
      }
    });

    test('[BU1] the two ask each other at the same time, and asks overtake each other when their handlers do', async () => {
      const { here, there } = await pair();
      const answers: (() => void)[] = [];
      there.serve(({ payload }) => new Promise((resolve) => answers.push(() => resolve(payload))));
      here.serve(({ payload }) => payload);
      const first = here.ask(there.address, message('first'), DEADLINE);
      const second = here.ask(there.address, message('second'), DEADLINE);
      await until('both are asked', () => answers.length === 2);
      expect(await there.ask(here.address, message('back'), DEADLINE)).toBe('back');
      answers[1]!();
      expect(await second).toBe('second');
      answers[0]!();
      expect(await first).toBe('first');
    });

    test('[BU2] a refusal of the handler is thrown to who asked, with its code and facts', async () => {
      const { here, there } = await pair();
      there.serve(({ payload }) => {
        const refusal = new AppError('ROOM_NOT_FOUND', { roomId: 'a' });
        if (payload === 'at once') throw refusal;
        return Promise.reject(refusal);
      });
      for (const payload of ['at once', 'later']) {
        const asking = here.ask(there.address, message(payload), DEADLINE);
        await expect(asking).rejects.toBeInstanceOf(AppError);
        await expect(asking).rejects.toMatchObject({ code: 'ROOM_NOT_FOUND', facts: { roomId: 'a' } });
      }
    });

    test('[BU3] tells and asks arrive in the order in which they were sent, and a failing handler troubles nobody', async () => {
      const { here, there } = await pair();
      const seen: unknown[] = [];
      there.serve(({ payload }) => {
        seen.push(payload);
        if (payload === 11) throw new AppError('ROOM_NOT_FOUND');
        if (payload === 20) return Promise.reject(new AppError('ROOM_NOT_FOUND'));
        return payload;
      });
      const asks: Promise<unknown>[] = [];
      for (let n = 0; n < 300; n += 1) {
        if (n % 7 === 3) asks.push(here.ask(there.address, message(n), DEADLINE));
        else here.tell(there.address, message(n));
      }
      expect(await Promise.all(asks)).toEqual(Array.from({ length: 43 }, (_, index) => 7 * index + 3).filter((n) => n < 300));
      expect(seen).toEqual(Array.from({ length: 300 }, (_, n) => n));
    });

    test('[BU3] who asked has its answer before what was told after it is handled', async () => {
      const { here, there } = await pair();
      const seen: unknown[] = [];
      here.serve(({ payload }) => void seen.push(payload));
      there.serve(({ payload }, from) => {
        there.tell(from, message(`before ${payload}`));
        queueMicrotask(() => process.nextTick(() => there.tell(from, message(`after ${payload}`)))); // when the answer is on its way
        if (payload === 2) throw new AppError('ROOM_NOT_FOUND');
        return payload;
      });
      /** As a router would ask: through several functions that wait. */
      const ask = async (n: number): Promise<unknown> => await here.ask(there.address, message(n), DEADLINE);
      const askAndNote = async (n: number): Promise<void> => {
        seen.push(await ask(n).catch(() => 'refused'));
      };
      await Promise.all([1, 2, 3].map(askAndNote));
      await until('all is told', () => seen.length === 9);
      for (const [n, answer] of [
        [1, 1],
        [2, 'refused'],
        [3, 3],
      ] as const) {
        const of = seen.filter((item) => item === answer || String(item).endsWith(` ${n}`));
        expect(of).toEqual([`before ${n}`, answer, `after ${n}`]);
      }
    });

    test('[BU3] when both begin at the same moment, nothing is lost and the order is kept', async () => {
      const { here, there } = await pair();
      const seen: Record<'here' | 'there', unknown[]> = { here: [], there: [] };
      here.serve(({ payload }) => void seen.here.push(payload));
      there.serve(({ payload }) => void seen.there.push(payload));
      const [downHere, downThere] = [downs(here), downs(there)];
      for (let n = 0; n < 100; n += 1) {
        here.tell(there.address, message(n));
        there.tell(here.address, message(n));
        if (n % 20 === 19) await turn();
      }
      await until('all has come', () => seen.here.length === 100 && seen.there.length === 100);
      const expected = Array.from({ length: 100 }, (_, n) => n);
      expect(seen).toEqual({ here: expected, there: expected });
      expect([downHere, downThere]).toEqual([[], []]);
    });

    test('[BU4] nothing is handled, and nobody is named as down, in the turn that sends', async () => {
      const { here, there, nowhere } = await pair();
      let handled = 0;
      there.serve(() => {
        handled += 1;
      });
      const down = downs(here);
      for (const round of [1, 2]) {
        here.tell(there.address, message(round));
        here.tell(nowhere, message(round));
        const asking = here.ask(there.address, message(round), DEADLINE);
        expect(handled).toBe(2 * (round - 1));
        expect(down).toHaveLength(round - 1);
        await asking;
        await until('nowhere is named as down', () => down.length === round);
        expect(handled).toBe(2 * round);
      }
      expect(down).toEqual([nowhere, nowhere]);
    });

    test('[BU5] where nobody is, an ask is WORKER_UNREACHABLE, and who was told is named as down', async () => {
      const { here, nowhere } = await pair();
      const down = downs(here);
      for (let round = 1; round <= 3; round += 1) {
        await failsWith(here.ask(nowhere, message(null), DEADLINE), 'WORKER_UNREACHABLE');
        down.length = 0;
        here.tell(nowhere, message(null));
        await until('it is named', () => down.length > 0);
        expect(new Set(down)).toEqual(new Set([nowhere]));
      }
    });

    test('[BU6] an answer that does not come in time is OUTCOME_UNKNOWN; one that comes later is dropped', async () => {
      const { here, there } = await pair();
      const answers: ((value: unknown) => void)[] = [];
      there.serve(({ payload }) => (payload === 'begin' ? null : new Promise((resolve) => answers.push(resolve))));
      await here.ask(there.address, message('begin'), DEADLINE); // the deadline below is not for making a connection
      await failsWith(here.ask(there.address, message('slow'), { deadlineMs: 50 }), 'OUTCOME_UNKNOWN');
      expect(answers).toHaveLength(1);
      const down = downs(here);
      const next = here.ask(there.address, message('next'), DEADLINE);
      await until('it is asked', () => answers.length === 2);
      answers[0]!('late');
      answers[1]!('in time');
      expect(await next).toBe('in time');
      expect(down).toEqual([]);
    });

    test('[BU7] a worker that ends leaves open asks as OUTCOME_UNKNOWN, and is named as down', async () => {
      const { here, there } = await pair();
      let asked = 0;
      there.serve(() => {
        asked += 1;
        return never();
      });
      const down = downs(here);
      const asking = [1, 2].map((n) => here.ask(there.address, message(n), DEADLINE));
      const outcomes = Promise.all(asking.map((each) => failsWith(each, 'OUTCOME_UNKNOWN')));
      await until('both are asked', () => asked === 2);
      await there.close();
      await outcomes;
      await until('it is named', () => down.length > 0);
      expect(down).toEqual([there.address]);
      await failsWith(here.ask(there.address, message(3), DEADLINE), 'WORKER_UNREACHABLE');
    });

    test('[BU8] another life under the same address is reached anew, and heard only after the first was named as down', async () => {
      const { network, here, there } = await pair();
      const heard: unknown[] = [];
      here.onDown((address) => heard.push(`down ${address}`));
      here.serve(({ payload }) => void heard.push(payload));
      there.serve(() => 'first life');
      expect(await here.ask(there.address, message(null), DEADLINE)).toBe('first life');
      there.tell(here.address, message('told by the first'));
      await until('it is told', () => heard.length === 1);
      await there.close();
      const again = await join(network, there.address);
      again.serve(() => 'second life');
      again.tell(here.address, message('told by the second'));
      await until('it is told', () => heard.includes('told by the second'));
      expect(heard).toEqual(['told by the first', `down ${there.address}`, 'told by the second']);
      expect(await here.ask(there.address, message(null), DEADLINE)).toBe('second life');
    });

    test('[BU9] a worker that does not serve yet does not leave who asks without an answer', async () => {
      const { here, there } = await pair();
      const asking = here.ask(there.address, message(null), { deadlineMs: 300 });
      await expect(asking).rejects.toSatisfy(({ code }: AppError) => ['WORKER_UNREACHABLE', 'OUTCOME_UNKNOWN'].includes(code));
      there.serve(() => 'now');
      expect(await here.ask(there.address, message(null), DEADLINE)).toBe('now');
    });

    test('[BU10] close ends open asks, and what is asked after it is WORKER_UNREACHABLE', async () => {
      const { here, there } = await pair();
      let asked = 0;
      there.serve(() => {
        asked += 1;
        return never();
      });
      const outcome = failsWith(here.ask(there.address, message(null), DEADLINE), 'OUTCOME_UNKNOWN');
      await until('it is asked', () => asked === 1);
      await here.close();
      await outcome;
      await failsWith(here.ask(there.address, message(null), DEADLINE), 'WORKER_UNREACHABLE');
      here.tell(there.address, message(null));
      await here.close();
      await turn();
      expect(asked).toBe(1);
    });

    test('[BU11] a worker reaches itself', async () => {
      const { here } = await pair();
      const seen: unknown[] = [];
      here.serve(({ payload }, from) => {
        seen.push(payload);
        if (payload === 'refuse') throw new AppError('ROOM_NOT_FOUND', { roomId: 'a' });
        return { payload, from };
      });
      here.tell(here.address, message('told'));
      expect(seen).toEqual([]);
      expect(await here.ask(here.address, message('asked'), DEADLINE)).toEqual({ payload: 'asked', from: here.address });
      await failsWith(here.ask(here.address, message('refuse'), DEADLINE), 'ROOM_NOT_FOUND');
      expect(seen).toEqual(['told', 'asked', 'refuse']);
    });
  });
}
