/** Actors whose commands take long. The clock stands still but for what a command is said to take; a turn of the event loop ends when the test says so. */
import { expect, test } from 'vitest';
import type { AppError } from '../../../src/base/errors.ts';
import type { Actor, Loss } from '../../../src/kernel/actor/actor.ts';
import { ActorHost } from '../../../src/kernel/actor/actor-host.ts';
import { manualClock } from '../../support/manual-clock.ts';

interface Work {
  readonly name: string;
  readonly takesMs: number;
  /** Nobody sent it: it cannot be refused. */
  readonly isNobodys?: boolean;
  readonly bytes?: number;
  /** What it brings about while it runs. */
  readonly does?: () => void;
}

class Toiler implements Actor<Work> {
  readonly heard: string[] = [];
  readonly refused: string[] = [];
  readonly #spend: (ms: number) => void;
  readonly #log: string[];
  readonly #key: string;
  readonly followers = 0;
  readonly isFull = false;
  idle = false;
  stops = 0;
  stopped: () => void = () => undefined;

  constructor(key: string, world: { spend: (ms: number) => void; log: string[] }) {
    this.#key = key;
    this.#spend = world.spend;
    this.#log = world.log;
  }

  async act(work: Work): Promise<unknown> {
    this.tell(work);
    return `did ${work.name}`;
  }
  tell({ name, takesMs, does }: Work): void {
    this.heard.push(name);
    this.#log.push(`${this.#key}${name}`);
    this.#spend(takesMs);
    does?.();
  }
  refuse({ name, isNobodys = false }: Work, { code }: AppError): boolean {
    if (!isNobodys) this.refused.push(`${name} ${code}`);
    return !isNobodys;
  }
  isIdle(): boolean {
    return this.idle;
  }
  stop(): Promise<void> {
    this.stops += 1;
    return new Promise((resolve) => {
      this.stopped = resolve;
    });
  }
  async resume(): Promise<'resumed'> {
    return 'resumed';
  }
  tick(): void {
    this.#log.push('tick');
  }
  suspend(): void {
    this.#log.push('suspend');
  }
  recall(): void {
    this.#log.push('recall');
  }
  saveAnew(): void {
    this.#log.push('saveAnew');
  }
  drop(): void {
    this.#log.push('drop');
  }
}

const settled = (): Promise<void> => new Promise((resolve) => setImmediate(resolve));
const long = (name: string, takesMs = 10): Work => ({ name, takesMs });
const names = (from: number, to: number): string[] => Array.from({ length: to - from + 1 }, (_, index) => `${from + index}`);

async function aHost(keys: readonly string[], waitingMax = 10) {
  const manual = manualClock();
  const log: string[] = [];
  const outcomes: string[] = [];
  const untold: string[] = [];
  const errors: unknown[] = [];
  const weighed: string[] = [];
  const lost = new Map<string, (loss: Loss) => void>();
  let [spentMs, turns] = [0, 0];
  let soon: (() => void)[] = [];
  const clock = {
    ...manual,
    monotonicMs: () => manual.monotonicMs() + spentMs,
    soon: (task: () => void) => void soon.push(task),
  };
  const spend = (ms: number): void => {
    spentMs += ms;
  };
  /** Ends the turn. */
  const turn = (): void => {
    turns += 1;
    const tasks = soon;
    soon = [];
    for (const task of tasks) task();
  };
  const actors = new Map<string, Toiler>();
  const host = new ActorHost<Work>({
    clock,
    waitingMax,
    weightOf({ name, bytes = 0 }) {
      weighed.push(name);
      return bytes;
    },
    onError: (error) => errors.push(error),
    onUntold: (_, { name }) => untold.push(name),
    onHeld: (key, outcome) => outcomes.push(`${key} ${outcome}`),
    async load(key, onLost) {
      const actor = new Toiler(key, { spend, log });
      actors.set(key, actor);
      lost.set(key, onLost);
      return actor;
    },
  });
  for (const key of keys) await host.ask(key, long('wakes', 0));
  for (const key of keys) actors.get(key)!.heard.length = 0;
  log.length = 0;
  return {
    host,
    log,
    outcomes,
    untold,
    errors,
    weighed,
    spend,
    advance: (ms: number) => manual.advance(ms),
    heardBy: (key: string) => actors.get(key)!.heard,
    actor: (key: string) => actors.get(key)!,
    lose: (key: string) => lost.get(key)!('taken'),
    tell: (key: string, ...works: readonly Work[]) => works.map((work) => host.tell(key, work)),
    turn,
    /** Ends turns until nothing is put off any more; returns how many. */
    turnsLeft(): number {
      const before = turns;
      while (soon.length > 0) turn();
      return turns - before;
    },
  };
}

test('[CB53] what comes for an actor that took more than 25 ms waits in order, told or asked, and runs for 25 ms in each turn', async () => {
  const { host, heardBy, tell, turn, turnsLeft, outcomes } = await aHost(['a']);
  const line = host.lineTo('a')!;
  tell('a', long('1'), long('2'));
  expect(outcomes).toEqual([]);
  expect([line.tell(long('3')), line.tell(long('4')), heardBy('a')]).toEqual([true, false, names(1, 3)]);
  tell('a', long('4'), long('5'));
  const asked = host.ask('a', long('6'));
  tell('a', long('7'), long('8', 100), long('9'));
  expect([heardBy('a'), host.held, outcomes]).toEqual([names(1, 3), 1, ['a held']]);
  turn();
  expect(heardBy('a')).toEqual(names(1, 6));
  expect(await asked).toBe('did 6');
  turn();
  expect(heardBy('a')).toEqual(names(1, 8)); // one that takes longer than a slice is the last of it
  turn();
  expect(heardBy('a')).toEqual(names(1, 9));
  expect([host.held, turnsLeft(), host.held]).toEqual([1, 1, 0]);
  tell('a', long('10'), long('11'));
  expect([line.tell(long('12')), heardBy('a')]).toEqual([true, names(1, 12)]); // at once, as before
});

test('[CB53] however many actors are held, one of them runs in a turn, and all others are heard at once', async () => {
  const { host, heardBy, tell, turn, turnsLeft, log } = await aHost(['a', 'b', 'c', 'calm']);
  for (const key of ['a', 'b', 'c']) tell(key, long('1', 26), long('2', 30), long('3', 20), long('4', 20));
  const heard: number[] = [];
  log.length = 0;
  for (let turns = 0; turns < 6; turns += 1) {
    turn();
    expect(tell('calm', long(`${turns}`, 0))).toEqual([true]);
    heard.push(heardBy('calm').length);
  }
  expect(heard).toEqual([1, 2, 3, 4, 5, 6]);
  expect(log).toEqual([
    'a2',
    'calm0',
    'b2',
    'calm1',
    'c2',
    'calm2',
    'a3',
    'a4',
    'calm3',
    'b3',
    'b4',
    'calm4',
    'c3',
    'c4',
    'calm5',
  ]);
  expect([turnsLeft(), host.held]).toEqual([1, 0]);
});

test('[CB53] what one command of a held actor brings about waits behind what came before', async () => {
  const { heardBy, tell, turn, turnsLeft } = await aHost(['a']);
  tell('a', long('1', 26), { ...long('2', 1), does: () => tell('a', long('leave', 1)) }, long('3', 1));
  turn();
  turnsLeft();
  expect(heardBy('a')).toEqual(['1', '2', '3', 'leave']);
});

test('[CB53] a command that breaks while its actor is held is reported, and the next has its turn', async () => {
  const { heardBy, tell, turnsLeft, errors } = await aHost(['a']);
  const bug = new Error('a bug');
  const breaks = (): void => {
    throw bug;
  };
  tell('a', long('1', 26), { ...long('2'), does: breaks }, long('3'));
  turnsLeft();
  expect([heardBy('a'), errors]).toEqual([names(1, 3), [bug]]);
});

test('[CB54] commands of less than 0.25 ms are never held, however many; nor are long ones that come now and then', async () => {
  const { host, heardBy, tell, spend, outcomes } = await aHost(['a', 'b']);
  for (let count = 0; count < 2_000; count += 1) tell('a', long('short', 0.24));
  expect(heardBy('a')).toHaveLength(2_000);
  for (let count = 0; count < 100; count += 1) {
    tell('b', long('long', 25));
    spend(75);
  }
  expect([heardBy('b').length, host.held, outcomes]).toEqual([100, 0, []]);
  for (let count = 0; count < 101; count += 1) tell('b', long('0.25', 0.25));
  expect([heardBy('b').length, outcomes]).toEqual([201, ['b held']]);
});

test('[CB54] questions count as what is told does, and those that waited for a load', async () => {
  const { host, heardBy, turn, outcomes } = await aHost(['a']);
  const answers = ['1', '2', '3', '4'].map((name) => host.ask('a', long(name)));
  expect(heardBy('a')).toEqual(names(1, 3));
  turn();
  expect(await Promise.all(answers)).toEqual(names(1, 4).map((name) => `did ${name}`));

  const loads = names(1, 5).map((name) => host.ask('b', long(name)));
  await settled();
  expect([heardBy('b'), outcomes]).toEqual([names(1, 3), ['a held', 'b held']]);
  turn(); // that of `a`, which has nothing to do any more, passes on
  expect(heardBy('b')).toEqual(names(1, 5));
  await Promise.all(loads);
});

test('[CB55] an actor is not stopped as idle while commands wait for it', async () => {
  const { host, actor, heardBy, tell, advance, turnsLeft } = await aHost(['a']);
  tell('a', long('1', 26), long('2'));
  actor('a').idle = true;
  advance(1_000);
  expect(actor('a').stops).toBe(0);
  turnsLeft();
  expect(heardBy('a')).toEqual(names(1, 2));
  advance(1_000);
  expect([actor('a').stops, host.tell('a', long('3'))]).toEqual([1, false]);
});

test('[CB55] one that was seen idle is not stopped in its turn when commands wait by then', async () => {
  const { actor, tell, advance, turnsLeft } = await aHost(['a', 'b']);
  for (const key of ['a', 'b']) actor(key).idle = true;
  const stops = (): number[] => ['a', 'b'].map((key) => actor(key).stops);
  advance(1_000);
  tell('b', long('1', 26), long('2'));
  advance(500); // of the two it is the second
  expect(stops()).toEqual([1, 0]);
  turnsLeft();
  advance(1_000);
  expect(stops()).toEqual([1, 1]);
});

test.each(['ROOM_MOVED', 'SERVER_STOPPING'])(
  '[CB55] what waits for a held actor that stops is refused or unheard: %s',
  async (code) => {
    const { host, actor, heardBy, tell, turnsLeft, untold } = await aHost(['a']);
    tell('a', long('1', 26), long('2'));
    const asked = host.ask('a', long('3'));
    const refused = expect(asked).rejects.toMatchObject({ code });
    const ended = code === 'ROOM_MOVED' ? host.move('a') : host.close();
    await settled();
    expect(tell('a', long('4'))).toEqual([false]);
    turnsLeft();
    expect(heardBy('a')).toEqual(['1']);
    actor('a').stopped();
    await ended;
    await refused;
    expect([untold, host.size, host.held]).toEqual([['2'], 0, 0]);
  },
);

test('[CB55] a held actor that begins to stop in one of its commands hears none of those that wait', async () => {
  const { host, actor, heardBy, tell, turnsLeft, untold } = await aHost(['a']);
  tell('a', long('1', 26), { ...long('2', 1), does: () => void host.move('a') }, long('3'));
  turnsLeft();
  actor('a').stopped();
  await settled();
  expect([heardBy('a'), untold]).toEqual([['1', '2'], ['3']]);
});

test.each(['is lost', 'loses it in a command'])(
  '[CB55] what waits for a held actor that %s is refused or unheard',
  async (how) => {
    const { host, lose, heardBy, tell, turnsLeft, untold } = await aHost(['a']);
    tell('a', long('1', 26), { ...long('2'), does: () => lose('a') }, long('3'));
    const asked = host.ask('a', long('4'));
    const refused = expect(asked).rejects.toMatchObject({ code: 'ROOM_MOVED' });
    if (how === 'is lost') host.dropAll();
    turnsLeft();
    await refused;
    expect(heardBy('a')).toEqual(how === 'is lost' ? ['1'] : ['1', '2']);
    expect(untold).toEqual(how === 'is lost' ? ['2', '3'] : ['3']);
    expect(await host.ask('a', long('again', 1))).toBe('did again');
    expect(heardBy('a')).toEqual(['again']);
  },
);

test('[CB55] without a lease a held actor goes on, and says itself what it refuses', async () => {
  const { host, heardBy, tell, turnsLeft } = await aHost(['a']);
  tell('a', long('1', 26), long('2'));
  host.suspendAll();
  host.recall([{ stream: 1, epoch: 1 }]);
  expect(heardBy('a')).toEqual(['1']);
  turnsLeft();
  expect(heardBy('a')).toEqual(['1', '2']);
});

test('[CB56] for a held actor 2,500 commands more wait than for a load; the next is refused to its sender, and what nobody sent is kept', async () => {
  const { host, actor, heardBy, tell, turnsLeft, outcomes } = await aHost(['a'], 10);
  tell('a', long('1', 26));
  tell('a', ...names(2, 2_511).map((name) => long(name, 0)));
  expect(actor('a').refused).toEqual([]);
  expect(tell('a', long('too much'), { ...long('leaves', 0), isNobodys: true })).toEqual([true, true]);
  await expect(host.ask('a', long('asked'))).rejects.toMatchObject({ code: 'ROOM_OVERLOADED' });
  expect([actor('a').refused, outcomes]).toEqual([['too much ROOM_OVERLOADED'], ['a held', 'a refused']]);
  turnsLeft();
  expect(heardBy('a')).toEqual([...names(1, 2_511), 'leaves']);
});

test('[CB56] they hold 16 MiB and one more; questions are bounded like what is told', async () => {
  const { host, actor, heardBy, tell, turn, turnsLeft } = await aHost(['a']);
  const large = (name: string): Work => ({ ...long(name, 26), bytes: 8 * 1024 * 1024 });
  tell('a', large('1'), { ...large('2'), bytes: 16 * 1024 * 1024 - 1 }, large('3'), large('4'));
  await expect(host.ask('a', { ...long('5'), bytes: 1 })).rejects.toMatchObject({ code: 'ROOM_OVERLOADED' });
  expect(actor('a').refused).toEqual(['4 ROOM_OVERLOADED']);
  turn();
  tell('a', large('6'));
  const asked = host.ask('a', large('7')).catch(({ code }: AppError) => code);
  expect(await asked).toBe('ROOM_OVERLOADED');
  turnsLeft();
  expect([heardBy('a'), actor('a').refused]).toEqual([['1', '2', '3', '6'], ['4 ROOM_OVERLOADED']]);
});

test('[CB56] those of all held actors hold 64 MiB, but 64 KiB of each find room always; what failed counts no more', async () => {
  const keys = ['a', 'b', 'c', 'd', 'e'];
  const { host, actor, heardBy, tell, turnsLeft, untold } = await aHost(keys);
  const of = (name: string, kib: number): Work => ({ ...long(name, 26), bytes: kib * 1024 });
  for (const key of keys) tell(key, of('1', 0));
  for (const key of keys.slice(0, 4)) tell(key, of('2', 16 * 1024));
  tell('e', of('2', 64), of('3', 1), of('leaves', 0));
  expect(actor('e').refused).toEqual(['3 ROOM_OVERLOADED']);
  void host.move('a');
  actor('a').stopped();
  await settled();
  expect(untold).toEqual(['2']);
  tell('e', of('4', 1_024));
  turnsLeft();
  expect(heardBy('e')).toEqual(['1', '2', 'leaves', '4']);
  expect(actor('e').refused).toEqual(['3 ROOM_OVERLOADED']);
});

test('[CB56] commands are weighed only while their actor is held, and what waits for a load is not bounded by it', async () => {
  const { host, heardBy, tell, weighed } = await aHost([], 1);
  const first = host.ask('a', long('1', 0));
  tell('a', ...names(2, 3_000).map((name) => long(name, 0)));
  await first;
  expect(heardBy('a')).toEqual(names(1, 3_000));
  tell('a', long('3001', 26), long('3002'));
  expect(weighed).toEqual(['3002']);
});
