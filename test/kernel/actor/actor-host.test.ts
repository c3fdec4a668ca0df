import { expect, test } from 'vitest';
import { AppError } from '../../../src/base/errors.ts';
import type { Actor, Loss } from '../../../src/kernel/actor/actor.ts';
import { ActorHost, LOADS_MAX } from '../../../src/kernel/actor/actor-host.ts';
import { type ManualClock, manualClock } from '../../support/manual-clock.ts';

const DAY_MS = 86_400_000;

class Recorder implements Actor<string> {
  readonly heard: string[] = [];
  readonly resumes: ('resumed' | 'not yet')[] = [];
  followers = 0;
  idle = false;
  /** On the clock that it is asked by. */
  idleFromMs = Number.POSITIVE_INFINITY;
  isFull = false;
  breaks = false;
  tickedAtMs = 0;
  onRecall: (() => void) | null = null;
  stopped: (() => void) | null = null;
  failed: ((error: Error) => void) | null = null;

  async act(command: string): Promise<unknown> {
    this.heard.push(command);
    return `did ${command}`;
  }
  tell(command: string): void {
    this.heard.push(command);
  }
  refuse(): boolean {
    return false;
  }
  tick(monotonicMs: number): void {
    this.heard.push('tick');
    this.tickedAtMs = monotonicMs;
    if (this.breaks) throw new Error('broken');
  }
  drop(): void {
    this.heard.push('drop');
  }
  recall({ stream }: { stream: number }): void {
    this.heard.push(`recall ${stream}`);
    this.onRecall?.();
  }
  saveAnew(): void {
    this.heard.push('save anew');
  }
  suspend(): void {
    this.heard.push('suspend');
  }
  async resume(): Promise<'resumed' | 'not yet'> {
    this.heard.push('resume');
    return this.resumes.shift() ?? 'resumed';
  }
  isIdle(monotonicMs: number): boolean {
    return this.idle || monotonicMs >= this.idleFromMs;
  }
  stop(): Promise<void> {
    return new Promise((resolve, reject) => {
      this.stopped = resolve;
      this.failed = reject;
    });
  }
}

interface Load {
  readonly key: string;
  readonly actor: Recorder;
  ready(): void;
  fail(error: Error): void;
  lose(loss: Loss): void;
}

function aHost(waitingMax = 10): {
  host: ActorHost<string>;
  loads: Load[];
  clock: ManualClock;
  errors: unknown[];
  untold: string[];
  wakes: { allowed: boolean };
} {
  const clock = manualClock();
  const loads: Load[] = [];
  const errors: unknown[] = [];
  const untold: string[] = [];
  const wakes = { allowed: true };
  const host = new ActorHost<string>({
    clock,
    waitingMax,
    mayWake: () => wakes.allowed,
    undoes: (command) => command === 'leave',
    onError: (error) => errors.push(error),
    onUntold: (_, command) => untold.push(command),
    load: (key, onLost) =>
      new Promise((resolve, reject) => {
        const actor = new Recorder();
        loads.push({ key, actor, ready: () => resolve(actor), fail: reject, lose: onLost });
      }),
  });
  return { host, loads, clock, errors, untold, wakes };
}

const settled = (): Promise<void> => new Promise((resolve) => setImmediate(resolve));

test('[AH1] callers that come while an actor loads share one load, and are heard in order', async () => {
  const { host, loads } = aHost();
  const answers = [host.ask('a', '1'), host.ask('a', '2')];
  host.tell('a', '3');
  expect(loads).toHaveLength(1);
  loads[0]!.ready();
  expect(await Promise.all(answers)).toEqual(['did 1', 'did 2']);
  expect(loads[0]!.actor.heard).toEqual(['1', '2', '3']);
});

test('[AH2] asks that wait for a load are bounded: one more than the bound is refused, and may be tried again', async () => {
  const { host, loads } = aHost(2);
  const answers = [host.ask('a', '1'), host.ask('a', '2')];
  await expect(host.ask('a', '3')).rejects.toMatchObject({ code: 'ROOM_OVERLOADED' });
  loads[0]!.ready();
  expect(await Promise.all(answers)).toEqual(['did 1', 'did 2']);
});

test('[AH18] while no actor may be woken, those that sleep are refused, and those that are awake, load or stop are not', async () => {
  const { host, loads, clock, wakes } = aHost();
  const answers = [host.ask('awake', '1'), host.ask('loading', '1')];
  loads[0]!.ready();
  await answers[0];
  wakes.allowed = false;
  expect(await host.ask('awake', '2')).toBe('did 2');
  answers.push(host.ask('loading', '2'));
  await expect(host.ask('asleep', '1')).rejects.toMatchObject({ code: 'WORKER_OVERLOADED' });
  loads[1]!.ready();
  expect(await Promise.all(answers)).toEqual(['did 1', 'did 1', 'did 2']);
  loads[0]!.actor.idle = true;
  clock.advance(1_000);
  const late = host.ask('awake', '3'); // it is on its way down, and is woken again for who has come by then
  loads[0]!.actor.stopped!();
  await settled();
  loads[2]!.ready();
  expect(await late).toBe('did 3');
});

test('[OV9] an actor is full when it says so: not while it sleeps, loads, or goes elsewhere', async () => {
  const { host, loads } = aHost();
  expect(host.isFull('a')).toBe(false);
  const answer = host.ask('a', '1');
  expect(host.isFull('a')).toBe(false);
  loads[0]!.ready();
  await answer;
  expect(host.isFull('a')).toBe(false);
  loads[0]!.actor.isFull = true;
  expect(host.isFull('a')).toBe(true);
  void host.move('a');
  expect(host.isFull('a')).toBe(false);
});

test('[AH3] a failed load fails all who waited, and the next caller loads anew', async () => {
  const { host, loads, errors } = aHost();
  const answer = host.ask('a', '1');
  const reason = new Error('disk on fire');
  loads[0]!.fail(reason);
  await expect(answer).rejects.toBe(reason);
  await settled();
  expect(errors).toEqual([reason]);
  const again = host.ask('a', '2');
  loads[1]!.ready();
  expect(await again).toBe('did 2');
});

test('[AH19] who came after a load had begun is not refused by what it found: it is looked for once more', async () => {
  const { host, loads } = aHost();
  const absent = new AppError('ROOM_NOT_FOUND', { roomId: 'a' });
  const early = [host.ask('a', '1'), host.ask('a', '2')];
  await settled();
  const late = host.ask('a', '3');
  host.tell('a', '4');
  loads[0]!.fail(absent); // seen before it was made, and told late
  for (const answer of early) await expect(answer).rejects.toBe(absent);
  expect(loads).toHaveLength(2);
  loads[1]!.ready();
  expect(await late).toBe('did 3');
  expect(loads[1]!.actor.heard).toEqual(['3', '4']);
});

test('[AH19] who waits for a store that is away is refused with the others', async () => {
  const { host, loads } = aHost();
  const away = new AppError('DATABASE_UNAVAILABLE', {});
  const early = host.ask('a', '1');
  await settled();
  const late = host.ask('a', '2');
  loads[0]!.fail(away);
  await expect(early).rejects.toBe(away);
  await expect(late).rejects.toBe(away);
  expect(loads).toHaveLength(1);
});

test('[AH4] tell wakes nobody: false for an actor that sleeps', () => {
  const { host, loads } = aHost();
  expect(host.tell('a', '1')).toBe(false);
  expect(loads).toHaveLength(0);
});

test('[AH5] an idle actor is stopped in order; what arrives meanwhile is done by its successor', async () => {
  const { host, loads, clock } = aHost();
  const first = host.ask('a', '1');
  loads[0]!.ready();
  await first;
  loads[0]!.actor.idle = true;
  clock.advance(1_000);
  const second = host.ask('a', '2');
  expect(loads).toHaveLength(1);
  loads[0]!.actor.stopped!();
  await settled();
  expect(loads).toHaveLength(2);
  loads[1]!.ready();
  expect(await second).toBe('did 2');
  expect(loads[0]!.actor.heard).toEqual(['1', 'tick']);
});

test.each([-DAY_MS, DAY_MS])(
  '[AH24] a wall clock that is set by %i ms neither keeps an actor awake nor puts it to sleep',
  async (ms) => {
    const { host, loads, clock } = aHost();
    const asked = host.ask('a', '1');
    loads[0]!.ready();
    await asked;
    const { actor } = loads[0]!;
    actor.idleFromMs = clock.monotonicMs() + 10_000;
    clock.stepWall(ms);
    clock.advance(9_000);
    expect([actor.stopped, actor.tickedAtMs]).toEqual([null, clock.monotonicMs()]);
    clock.advance(1_000);
    expect(actor.stopped).not.toBeNull();
  },
);

test('[AH6] an actor that lost its ownership is dropped unread; the next command loads it again', async () => {
  const { host, loads } = aHost();
  const first = host.ask('a', '1');
  loads[0]!.ready();
  await first;
  loads[0]!.lose('taken');
  expect(host.size).toBe(0);
  const second = host.ask('a', '2');
  loads[1]!.ready();
  expect(await second).toBe('did 2');
});

test('[AH25] an actor that fails is loaded at once; one that fails again and again rests before it is, up to two seconds, and who asks meanwhile waits', async () => {
  const { host, loads, clock } = aHost();
  const loadedAfterMs: number[] = [];
  for (let round = 0; round < 7; round += 1) {
    const sinceMs = clock.monotonicMs();
    const asked = host.ask('a', 'wakes');
    while (loads.length === round) {
      await settled();
      if (loads.length === round) clock.advance(50);
    }
    loadedAfterMs.push(clock.monotonicMs() - sinceMs);
    loads[round]!.ready();
    expect(await asked).toBe('did wakes');
    loads[round]!.lose('failed');
  }
  expect(loadedAfterMs).toEqual([0, 0, 250, 500, 1_000, 2_000, 2_000]);
});

test('[AH25] others are loaded meanwhile, and so is who has not failed for ten seconds, or was only taken', async () => {
  const { host, loads, clock } = aHost();
  const wake = async (key: string): Promise<Load> => {
    const asked = host.ask(key, 'wakes');
    await settled();
    const load = loads.at(-1)!;
    expect(load.key).toBe(key);
    load.ready();
    await asked;
    return load;
  };
  for (let times = 0; times < 5; times += 1) (await wake('taken')).lose('taken');
  for (let times = 0; times < 2; times += 1) (await wake('a')).lose('failed');
  const waits = host.ask('a', 'waits');
  await wake('b');
  clock.advance(250);
  await settled();
  loads.at(-1)!.ready();
  expect(await waits).toBe('did waits');
  loads.at(-1)!.lose('failed');
  clock.advance(10_000);
  (await wake('a')).lose('failed');
  await wake('a');
});

test.each(['suspendAll', 'close'] as const)(
  '[AH25] who waits for one that rests is told at once when the worker has to end it: %s',
  async (how) => {
    const { host, loads } = aHost();
    for (let times = 0; times < 2; times += 1) {
      const asked = host.ask('a', 'wakes');
      await settled();
      loads[times]!.ready();
      await asked;
      loads[times]!.lose('failed');
    }
    const waits = host.ask('a', 'waits');
    const ended = host[how]();
    await expect(waits).rejects.toMatchObject({ code: 'ROOM_MOVED' });
    await ended;
    expect(loads).toHaveLength(2);
  },
);

test('[AH20] a line leads to an actor that is awake; once that stops or is lost it leads nowhere, whoever comes after it', async () => {
  const { host, loads, clock } = aHost();
  const wake = async (): Promise<Recorder> => {
    const asked = host.ask('a', 'wake up');
    const { actor, ready } = loads.at(-1)!;
    ready();
    await asked;
    return actor;
  };
  expect(host.lineTo('a')).toBeNull();
  const first = await wake();
  const line = host.lineTo('a')!;
  expect([line.tell('1'), first.heard]).toEqual([true, ['wake up', '1']]);
  loads[0]!.lose('taken');
  await wake();
  expect([line.tell('2'), first.heard]).toEqual([false, ['wake up', '1']]);

  const next = host.lineTo('a')!;
  loads[1]!.actor.idle = true;
  clock.advance(1_000);
  expect([next.tell('3'), loads[1]!.actor.heard]).toEqual([false, ['wake up', 'tick']]);
  loads[1]!.actor.stopped!();
  await settled();
  await wake();
  expect([next.tell('4'), loads[2]!.actor.heard]).toEqual([false, ['wake up']]);
});

test('[AH7] closing stops every actor, also one still loading, and refuses newcomers', async () => {
  const { host, loads } = aHost();
  const first = host.ask('a', '1');
  const closed = host.close();
  loads[0]!.ready();
  await first;
  await settled();
  await expect(host.ask('b', '1')).rejects.toMatchObject({ code: 'SERVER_STOPPING' });
  loads[0]!.actor.stopped!();
  await closed;
  expect(host.size).toBe(0);
});

test('[AH22] closing begins with those that fewest follow, and moving passes over those that load', async () => {
  const { host, loads } = aHost();
  const keys = ['hot', 'calm', 'warm'];
  const answers = keys.map((key) => host.ask(key, '1'));
  for (const load of loads) load.ready();
  await Promise.all(answers);
  const order: string[] = [];
  for (const [index, followers] of [900, 0, 12].entries()) {
    const { actor } = loads[index]!;
    actor.followers = followers;
    actor.stop = async () => void order.push(keys[index]!);
  }
  void host.ask('loads', '1').catch(() => undefined);
  expect(host.movable).toEqual(['calm', 'warm', 'hot']);
  const closed = host.close();
  await settled();
  loads[3]!.fail(new Error('no'));
  await closed;
  expect(order).toEqual(['calm', 'warm', 'hot']);
});

test('[AH8] a worker that lost its lease drops all actors, and tells them', async () => {
  const { host, loads } = aHost();
  const first = host.ask('a', '1');
  loads[0]!.ready();
  await first;
  host.dropAll();
  expect(loads[0]!.actor.heard).toEqual(['1', 'drop']);
  expect(host.size).toBe(0);
});

test('[AH9] closing waits for an actor that was being stopped already', async () => {
  const { host, loads, clock } = aHost();
  const first = host.ask('a', '1');
  loads[0]!.ready();
  await first;
  loads[0]!.actor.idle = true;
  clock.advance(1_000);
  let isClosed = false;
  const closed = host.close().then(() => (isClosed = true));
  await settled();
  expect(isClosed).toBe(false);
  loads[0]!.actor.stopped!();
  await closed;
});

test('[AH10] an actor that cannot be stopped in order is reported, and the others are stopped all the same', async () => {
  const { host, loads, errors } = aHost();
  const answers = [host.ask('a', '1'), host.ask('b', '1'), host.ask('c', '1')];
  loads[0]!.ready();
  loads[1]!.ready();
  await settled();
  let isClosed = false;
  const closed = host.close().then(() => (isClosed = true));
  await settled();
  const reason = new Error('the database is away');
  loads[0]!.actor.failed!(reason);
  await settled();
  expect(isClosed).toBe(false);
  expect(loads[1]!.actor.stopped).not.toBeNull(); // stopped beside the one that still loads, not after it
  loads[1]!.actor.stopped!();
  loads[2]!.ready();
  await Promise.all(answers);
  await settled();
  loads[2]!.actor.stopped!();
  await closed;
  expect(errors).toEqual([reason]);
});

test('[AH11] an actor that breaks in its tick is reported; the others have theirs', async () => {
  const { host, loads, clock, errors } = aHost();
  const answers = [host.ask('a', '1'), host.ask('b', '1')];
  for (const load of loads) load.ready();
  await Promise.all(answers);
  loads[0]!.actor.breaks = true;
  clock.advance(1_000);
  expect(errors).toHaveLength(1);
  expect(loads[1]!.actor.heard).toEqual(['1', 'tick']);
});

test('[AH12] what is told to an actor on its way down is told to nobody; what takes a question back is heard behind it', async () => {
  const { host, loads, clock } = aHost();
  const first = host.ask('a', '1');
  loads[0]!.ready();
  await first;
  loads[0]!.actor.idle = true;
  clock.advance(1_000);
  expect(host.tell('a', 'nobody hears')).toBe(false);
  const joined = host.ask('a', 'join');
  expect(host.tell('a', 'nor behind a question')).toBe(false);
  expect(host.tell('a', 'leave')).toBe(true);
  loads[0]!.actor.stopped!();
  await settled();
  loads[1]!.ready();
  await joined;
  expect(loads[1]!.actor.heard).toEqual(['join', 'leave']);
});

test('[AH13] an actor that is handed over is stopped, and who asks for it meanwhile is sent after it', async () => {
  const { host, loads } = aHost();
  const first = host.ask('a', '1');
  loads[0]!.ready();
  await first;
  const moving = host.move('a');
  const late = host.ask('a', 'late');
  loads[0]!.actor.stopped!();
  await moving;
  await expect(late).rejects.toMatchObject({ code: 'ROOM_MOVED' });
  expect(loads).toHaveLength(1);
  await host.move('nobody');
});

test('[AH14] without a lease actors are kept and those that load are dropped; with a new one all are resumed, again until each is', async () => {
  const { host, loads, clock } = aHost();
  const [ready, loading] = [host.ask('a', '1'), host.ask('b', '1')];
  loads[0]!.ready();
  await ready;
  host.suspendAll();
  await expect(loading).rejects.toMatchObject({ code: 'ROOM_MOVED' });
  const { actor } = loads[0]!;
  actor.resumes.push('not yet');
  await host.resumeAll();
  clock.advance(1_000);
  await settled();
  clock.advance(1_000);
  expect(actor.heard).toEqual(['1', 'suspend', 'resume', 'resume', 'tick', 'tick']); // and not a third time
});

test('[AH14] those that were resumed before the lease lapsed once more are resumed with the next, also where the last was still on its way', async () => {
  const { host, loads, clock } = aHost();
  const asked = ['a', 'b'].map((key) => host.ask(key, '1'));
  for (const { ready } of loads) ready();
  await Promise.all(asked);
  const [a, b] = loads.map(({ actor }) => actor) as [Recorder, Recorder];
  let resumed = (_: 'resumed'): void => undefined;
  b.resume = () =>
    new Promise((resolve) => {
      resumed = resolve;
    });
  host.suspendAll();
  const first = host.resumeAll();
  await settled();
  host.suspendAll();
  await host.resumeAll(); // the first is under way
  resumed('resumed');
  await first;
  clock.advance(1_000);
  await settled();
  expect(a.heard).toEqual(['1', 'suspend', 'resume', 'suspend', 'resume', 'tick']);
});

test('[AH23] an actor that is dropped while it loads is told so once it is there; one that waits for its turn is not loaded', async () => {
  const { host, loads } = aHost();
  const asked = Array.from({ length: LOADS_MAX + 1 }, (_, n) => host.ask(`a${n}`, '1').catch(({ code }: AppError) => code));
  expect(loads).toHaveLength(LOADS_MAX);
  host.suspendAll();
  expect(new Set(await Promise.all(asked))).toEqual(new Set(['ROOM_MOVED']));
  const again = host.ask('a0', 'again');
  for (const { ready } of loads) ready();
  await settled();
  expect(loads.map(({ key }) => key)).toEqual([...Array.from({ length: LOADS_MAX }, (_, n) => `a${n}`), 'a0']);
  loads.at(-1)!.ready();
  await again;
  expect(loads.map(({ actor }) => actor.heard.join())).toEqual([...Array(LOADS_MAX).fill('drop'), 'again']);
});

test('[AH16] a recall reaches all actors, those that load as soon as they have, and before anything that waits for them', async () => {
  const { host, loads } = aHost();
  const [ready, loading, gone] = ['a', 'b', 'c'].map((key) => host.ask(key, '1'));
  loads[0]!.ready();
  await ready;
  host.recall([{ stream: 7, epoch: 3 }]);
  host.recall([{ stream: 8, epoch: 3 }]);
  loads[2]!.actor.onRecall = () => loads[2]!.lose('taken');
  for (const { ready: become } of loads.slice(1)) become();
  expect(await loading).toBe('did 1');
  await expect(gone).rejects.toMatchObject({ code: 'ROOM_MOVED' });
  const recalls = ['recall 7', 'recall 8'];
  expect(loads.map(({ actor }) => actor.heard)).toEqual([['1', ...recalls], [...recalls, '1'], recalls]);
  expect(host.keys).toEqual(['a', 'b']);
  host.recall([{ stream: 9, epoch: 3 }]);
  expect(loads[1]!.actor.heard).toEqual([...recalls, '1', 'recall 9']);
});

test('[AH16] an actor that goes with a recall leaves the others to theirs', async () => {
  const { host, loads } = aHost();
  const answers = ['a', 'b', 'c'].map((key) => host.ask(key, '1'));
  for (const load of loads) load.ready();
  await Promise.all(answers);
  for (const load of loads) load.actor.onRecall = () => load.lose('taken');
  host.recall([
    { stream: 7, epoch: 3 },
    { stream: 8, epoch: 3 },
  ]);
  expect(host.keys).toEqual([]);
  for (const { actor } of loads) expect(actor.heard).toEqual(['1', 'recall 7', 'recall 8']);
});

test('[AH21] when the store may have lost its last commits, actors save anew, and those that load are dropped', async () => {
  const { host, loads } = aHost();
  const [ready, loading] = [host.ask('a', '1'), host.ask('b', '1')];
  loads[0]!.ready();
  await ready;
  host.saveAnew();
  await expect(loading).rejects.toMatchObject({ code: 'ROOM_MOVED' });
  expect(loads[0]!.actor.heard).toEqual(['1', 'save anew']);
});

test('[AH17] what was told to an actor that then could not be loaded is reported as unheard', async () => {
  const { host, loads, untold } = aHost();
  const asked = host.ask('a', 'join');
  expect(host.tell('a', 'lost')).toBe(true);
  loads[0]!.fail(new Error('owned by another'));
  await expect(asked).rejects.toThrow();
  expect(untold).toEqual(['lost']);
});

test('[DO4] idle actors are stopped 10 ms from each other, whatever becomes of the others; one that is needed by then stays', async () => {
  const { host, loads, clock } = aHost();
  const answers = ['a', 'b', 'c', 'd'].map((key) => host.ask(key, '1'));
  for (const load of loads) load.ready();
  await Promise.all(answers);
  for (const { actor } of loads) actor.idle = true;
  const stopped = (): string[] => loads.filter(({ actor }) => actor.stopped !== null).map(({ key }) => key);
  clock.advance(1_000);
  expect(stopped()).toEqual(['a']);
  clock.advance(10);
  expect(stopped()).toEqual(['a', 'b']);
  loads[2]!.actor.idle = false;
  clock.advance(900);
  expect(stopped()).toEqual(['a', 'b', 'd']);
  expect(await host.ask('c', '2')).toBe('did 2');
});

test('[DO4] those that were left together have their turns, each once', async () => {
  const { host, loads, clock } = aHost();
  const answers = Array.from({ length: 60 }, (_, index) => host.ask(`${index}`, '1'));
  for (const load of loads.slice()) load.ready();
  await settled();
  for (const load of loads.slice(50)) load.ready();
  await Promise.all(answers);
  const stops: string[] = [];
  for (const { key, actor } of loads) {
    actor.idle = true;
    actor.stop = async () => void stops.push(key);
  }
  clock.advance(1_009);
  expect(stops).toEqual(['0']);
  clock.advance(1);
  expect(stops).toEqual(['0', '1']);
  clock.advance(10);
  expect(stops).toEqual(['0', '1', '2']);
  clock.advance(2_000);
  await settled();
  expect([stops.length, new Set(stops).size, host.size]).toEqual([60, 60, 0]);
});

test('[DO4] where thousands wait several stop in each turn', async () => {
  const { host, loads, clock } = aHost();
  const rooms = 6_000;
  const answers = Array.from({ length: rooms }, (_, index) => host.ask(`${index}`, '1'));
  for (let ready = 0; ready < rooms; ) {
    for (const load of loads.slice(ready)) load.ready();
    ready = loads.length;
    await settled();
  }
  await Promise.all(answers);
  let stops = 0;
  for (const { actor } of loads) {
    actor.idle = true;
    actor.stop = async () => {
      stops += 1;
    };
  }
  clock.advance(2_000);
  const stopsBefore = stops;
  clock.advance(10);
  expect(stops - stopsBefore).toBe(3);
  clock.advance(60_000);
  expect(stops).toBe(rooms);
});

test('[DO4] closing waits for no turn', async () => {
  const { host, loads, clock } = aHost();
  const answers = ['a', 'b', 'c'].map((key) => host.ask(key, '1'));
  for (const load of loads) load.ready();
  await Promise.all(answers);
  for (const { actor } of loads) actor.idle = true;
  clock.advance(1_000);
  const closed = host.close();
  await settled();
  for (const { actor } of loads) actor.stopped!();
  await closed;
  expect(host.size).toBe(0);
});
