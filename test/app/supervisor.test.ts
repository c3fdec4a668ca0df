import { describe, expect, test } from 'vitest';
import { Supervisor, type SupervisorEnd } from '../../src/app/supervisor.ts';
import { asIncarnation, type Incarnation } from '../../src/base/ids.ts';
import { silentLog } from '../../src/base/observe.ts';
import type { ChildExit, ChildOptions } from '../../src/kernel/cluster/child-worker.ts';
import { manualClock } from '../support/manual-clock.ts';

const settled = (): Promise<void> => new Promise((resolve) => setImmediate(resolve));

const KILLED: ChildExit = { code: null, signal: 'SIGKILL' };
const IN_ORDER: ChildExit = { code: 0, signal: null };
const CRASHED: ChildExit = { code: 1, signal: null };

/** A process that does nothing by itself. */
interface FakeChild extends ChildOptions {
  readonly asked: ('stop' | 'kill')[];
  serves(): void;
  isAlive(): void;
  takesLease(name: string): Incarnation;
}

/** A supervisor whose children are puppets; jitter takes the longest delay there is. */
function aSupervisor({ workers = 2 }: { workers?: number } = {}) {
  const clock = manualClock();
  const children: FakeChild[] = [];
  const fenced: Incarnation[] = [];
  const urls: string[] = [];
  let end: SupervisorEnd | null = null;
  const fences = { hang: false };
  const supervisor = new Supervisor({
    clock,
    log: silentLog,
    random: { bytes: (size) => new Uint8Array(size).fill(255), uuid: () => '' },
    settings: Array.from({ length: workers }, (_, index) => ({ BUS_PORT: String(9_000 + index) })),
    onServing: (url) => urls.push(url),
    async fence(incarnation) {
      fenced.push(incarnation);
      if (fences.hang) await new Promise(() => undefined);
    },
    startChild(options) {
      const asked: FakeChild['asked'] = [];
      const child: FakeChild = {
        ...options,
        asked,
        serves: () => options.onReport({ type: 'serving', url: `http://worker-${options.index}` }),
        isAlive: () => options.onReport({ type: 'alive' }),
        takesLease(name) {
          const incarnation = asIncarnation(name);
          options.onReport({ type: 'registered', incarnation });
          return incarnation;
        },
      };
      children.push(child);
      return { pid: children.length, stop: () => asked.push('stop'), kill: () => asked.push('kill') };
    },
  });
  void supervisor.run().then((how) => {
    end = how;
  });
  const serveAll = (): void => {
    for (const child of children) child.serves();
  };
  return { supervisor, clock, children, fenced, fences, urls, serveAll, end: () => end };
}

test('[SV1] all workers are started at once, each with the settings of its place; that the first one serves is told, once', () => {
  const { children, urls } = aSupervisor({ workers: 3 });
  expect(children.map(({ index, settings }) => [index, settings])).toEqual([
    [0, { BUS_PORT: '9000' }],
    [1, { BUS_PORT: '9001' }],
    [2, { BUS_PORT: '9002' }],
  ]);
  expect(urls).toEqual([]);
  children[1]!.serves();
  children[0]!.serves();
  expect(urls).toEqual(['http://worker-1']);
});

describe('a worker that died', () => {
  test('[SV2] is started again in its place: within 100 ms, then twice as late each time, never later than 5 s', () => {
    const { clock, children, serveAll } = aSupervisor();
    serveAll();
    const delays = [100, 200, 400, 800, 1_600, 3_200, 5_000, 5_000];
    for (const delayMs of delays) {
      const before = children.length;
      children.at(-1)!.onExit(KILLED);
      clock.advance(delayMs - 2); // the jitter of this test is a hair less than the range
      expect(children).toHaveLength(before);
      clock.advance(2);
      expect(children).toHaveLength(before + 1);
      expect(children.at(-1)!.index).toBe(1);
    }
  });

  test('[SV2] one that lived 10 s is started again as if it were the first; one that lived less is not', () => {
    const { clock, children, serveAll } = aSupervisor({ workers: 1 });
    serveAll();
    const diesAfter = (livedMs: number): number => {
      clock.advance(livedMs);
      const before = children.length;
      children.at(-1)!.onExit(KILLED);
      let waitedMs = 0;
      for (; children.length === before; waitedMs += 10) clock.advance(10);
      return waitedMs;
    };
    expect([diesAfter(0), diesAfter(9_999), diesAfter(10_000), diesAfter(0)]).toEqual([100, 200, 100, 200]);
  });

  test('[SV3] every name under which it may hold a lease is fenced at once, and one that its last report brings', () => {
    const { children, fenced } = aSupervisor();
    const [first, second] = children;
    const names = [first!.takesLease('a'), first!.takesLease('b')];
    second!.takesLease('other');
    first!.onExit(KILLED);
    expect(fenced).toEqual(names);
    const late = first!.takesLease('late');
    expect(fenced).toEqual([...names, late]);
  });

  test('[SV3] one that ended in order has given up its lease itself: it is not fenced, and started again', () => {
    const { clock, children, fenced } = aSupervisor();
    children[0]!.takesLease('a');
    children[0]!.onExit(IN_ORDER);
    expect(fenced).toEqual([]);
    clock.advance(100);
    expect(children).toHaveLength(3);
  });

  test('[SV3] one whose drain broke off is fenced', () => {
    const { children, fenced } = aSupervisor();
    const name = children[0]!.takesLease('a');
    children[0]!.onExit(CRASHED);
    expect(fenced).toEqual([name]);
  });
});

describe('a worker that hangs', () => {
  test('[SV18] is killed after ten seconds of silence, not before, then fenced and started again; the others are not', () => {
    const { clock, children, serveAll, fenced } = aSupervisor();
    serveAll();
    const name = children[0]!.takesLease('a');
    for (const child of children) child.isAlive();
    clock.advance(5_500);
    for (const child of children) child.isAlive();
    for (let second = 6; second <= 14; second += 1) {
      clock.advance(1_000);
      children[1]!.isAlive();
    }
    expect(children.map(({ asked }) => asked)).toEqual([[], []]);
    clock.advance(500);
    expect(children.map(({ asked }) => asked)).toEqual([['kill'], []]);
    expect(fenced).toEqual([]); // it is dead when its exit says so
    children[1]!.isAlive();
    clock.advance(5_000);
    expect(children[0]!.asked).toEqual(['kill']);
    children[0]!.onExit(KILLED);
    expect(fenced).toEqual([name]);
    clock.advance(100);
    expect(children).toHaveLength(3);
    clock.advance(4_800);
    expect(children.map(({ asked }) => asked)).toEqual([['kill'], [], []]);
  });

  test('[SV18] one that is still loading its code, and one that drains and is heard, are left alone', () => {
    const { supervisor, clock, children } = aSupervisor({ workers: 2 });
    children[1]!.isAlive();
    supervisor.stop();
    for (let second = 0; second < 27; second += 1) {
      clock.advance(1_000);
      children[1]!.isAlive();
    }
    expect(children.map(({ asked }) => asked)).toEqual([['stop'], ['stop']]);
  });

  test('[SV18] a supervisor that slept with its machine takes nobody for dead', () => {
    const { clock, children } = aSupervisor({ workers: 1 });
    children[0]!.isAlive();
    clock.sleep(3_600_000);
    clock.advance(8_999);
    expect(children[0]!.asked).toEqual([]);
    children[0]!.isAlive();
    clock.advance(8_999);
    expect(children[0]!.asked).toEqual([]);
  });
});

describe('the end', () => {
  test('[SV4] all workers are asked to drain, nothing is started any more, and when all have ended in order the code is 0', async () => {
    const { supervisor, clock, children, serveAll, end } = aSupervisor({ workers: 3 });
    serveAll();
    children[2]!.onExit(KILLED); // waits for its restart
    supervisor.stop();
    supervisor.stop();
    expect(children.map(({ asked }) => asked)).toEqual([['stop'], ['stop'], []]);
    children[0]!.onExit(IN_ORDER);
    await settled();
    expect(end()).toBeNull();
    children[1]!.onExit(IN_ORDER);
    await settled();
    expect(end()).toEqual({ code: 0, sentence: null });
    clock.advance(60_000);
    expect(children).toHaveLength(3);
  });

  test('[SV4] a worker that does not end is killed after 28 s, and the code is not 0', async () => {
    const { supervisor, clock, children, serveAll, fenced, end } = aSupervisor();
    serveAll();
    const name = children[1]!.takesLease('stuck');
    supervisor.stop();
    children[0]!.onExit(IN_ORDER);
    clock.advance(27_999);
    expect(children[1]!.asked).toEqual(['stop']);
    clock.advance(1);
    expect(children[1]!.asked).toEqual(['stop', 'kill']);
    children[1]!.onExit(KILLED);
    await settled();
    expect(fenced).toEqual([name]);
    expect(end()).toEqual({ code: 1, sentence: null });
  });

  test('[SV4] a fence that cannot be written holds the end up for a second, no longer', async () => {
    const { supervisor, clock, children, serveAll, fences, end } = aSupervisor({ workers: 1 });
    serveAll();
    fences.hang = true;
    children[0]!.takesLease('a');
    children[0]!.onExit(KILLED);
    supervisor.stop();
    await settled();
    clock.advance(999);
    await settled();
    expect(end()).toBeNull();
    clock.advance(1);
    await settled();
    expect(end()).toEqual({ code: 0, sentence: null });
  });

  test('[SV4] a worker that the signal met before it could hear it ended in order', async () => {
    const { supervisor, children, end } = aSupervisor({ workers: 1 });
    supervisor.stop();
    children[0]!.onExit({ code: null, signal: 'SIGTERM' });
    await settled();
    expect(end()).toEqual({ code: 0, sentence: null });
  });
});

describe('a start that fails', () => {
  test('[SV5] a worker that refuses to start ends all, with its sentence once, however many say it', async () => {
    const { children, end } = aSupervisor({ workers: 3 });
    children[0]!.serves();
    for (const child of children.slice(1)) child.onReport({ type: 'refused', sentence: 'The bucket is missing.' });
    expect(children[0]!.asked).toEqual(['stop']);
    for (const child of children) child.onExit(child.index === 0 ? IN_ORDER : CRASHED);
    await settled();
    expect(end()).toEqual({ code: 1, sentence: 'The bucket is missing.' });
  });

  test('[SV5] the exit of who refuses may be heard before its sentence', async () => {
    const { clock, children, end } = aSupervisor({ workers: 1 });
    children[0]!.onExit(CRASHED);
    children[0]!.onReport({ type: 'refused', sentence: 'No.' });
    clock.advance(10_000);
    await settled();
    expect(children).toHaveLength(1);
    expect(end()).toEqual({ code: 1, sentence: 'No.' });
  });

  test('[SV6] workers that die five times and never serve end it; four times do not', async () => {
    const { clock, children, end } = aSupervisor({ workers: 2 });
    children[0]!.serves();
    for (let deaths = 1; deaths <= 4; deaths += 1) {
      children.at(-1)!.onExit(CRASHED);
      clock.advance(5_000);
    }
    expect(children).toHaveLength(6);
    expect(children[0]!.asked).toEqual([]);
    children.at(-1)!.onExit(CRASHED);
    expect(children[0]!.asked).toEqual(['stop']);
    children[0]!.onExit(IN_ORDER);
    await settled();
    expect(end()).toMatchObject({ code: 1, sentence: expect.stringMatching(/as soon as they start/) });
  });

  test('[SV6] once each worker has served, neither deaths nor refusals make it give up', async () => {
    const { clock, children, serveAll, end } = aSupervisor();
    serveAll();
    for (let deaths = 1; deaths <= 20; deaths += 1) {
      children.at(-1)!.onReport({ type: 'refused', sentence: 'The database is of another build.' });
      children.at(-1)!.onExit(CRASHED);
      clock.advance(5_000);
    }
    await settled();
    expect(children).toHaveLength(22);
    expect(end()).toBeNull();
  });
});

describe('a rolling restart', () => {
  test('[SV7] takes the workers one after the other, each only while all others serve', async () => {
    const { supervisor, children, serveAll } = aSupervisor({ workers: 3 });
    serveAll();
    supervisor.roll();
    for (const index of [0, 1, 2]) {
      await settled();
      expect(children.map(({ asked }) => asked.length).slice(0, 3)).toEqual([0, 1, 2].map((at) => (at <= index ? 1 : 0)));
      expect(children).toHaveLength(3 + index);
      children[index]!.onExit(IN_ORDER);
      await settled();
      expect(children).toHaveLength(4 + index);
      expect(children.at(-1)!.index).toBe(index);
      children.at(-1)!.serves();
    }
    await settled();
    expect(children.filter(({ asked }) => asked.length > 0)).toHaveLength(3);
  });

  test('[SV7] a worker that died meanwhile is back before the next one goes', async () => {
    const { supervisor, clock, children, serveAll } = aSupervisor({ workers: 2 });
    serveAll();
    children[1]!.onExit(KILLED);
    supervisor.roll();
    await settled();
    expect(children[0]!.asked).toEqual([]);
    clock.advance(100);
    children[2]!.serves();
    await settled();
    expect(children[0]!.asked).toEqual(['stop']);
  });

  test('[SV8] it is given up when a worker does not serve within a minute: the others keep what they have', async () => {
    const { supervisor, clock, children, serveAll } = aSupervisor({ workers: 2 });
    serveAll();
    supervisor.roll();
    await settled();
    children[0]!.onExit(IN_ORDER);
    await settled();
    clock.advance(60_000);
    await settled();
    children.at(-1)!.serves();
    await settled();
    expect(children[1]!.asked).toEqual([]);
    supervisor.roll();
    await settled();
    expect(children.at(-1)!.asked).toEqual(['stop']);
  });

  test('[SV8] asked for twice meanwhile, it is done once more after', async () => {
    const { supervisor, children, serveAll } = aSupervisor({ workers: 1 });
    serveAll();
    for (let asked = 1; asked <= 3; asked += 1) supervisor.roll();
    for (let restarts = 1; restarts <= 3; restarts += 1) {
      await settled();
      if (children.at(-1)!.asked.length > 0) children.at(-1)!.onExit(IN_ORDER);
      await settled();
      children.at(-1)!.serves();
    }
    await settled();
    expect(children).toHaveLength(3);
  });

  test('[SV8] the end comes first: nothing is started any more', async () => {
    const { supervisor, children, serveAll, end } = aSupervisor({ workers: 2 });
    serveAll();
    supervisor.roll();
    await settled();
    supervisor.stop();
    for (const child of children) child.onExit(IN_ORDER);
    await settled();
    expect(children).toHaveLength(2);
    expect(end()).toEqual({ code: 0, sentence: null });
  });
});
