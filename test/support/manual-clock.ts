/** A clock that moves only when told: `advance` runs what is due in order, `turn` ends the current turn of the event loop. */
import type { Clock } from '../../src/base/clock.ts';

export interface ManualClock extends Clock {
  advance(ms: number): void;
  /** Sets the wall clock alone, by so much, as who keeps it right does: no timer is nearer, or further. */
  stepWall(ms: number): void;
  /** So much passes as for a process that is stopped meanwhile: what came due is run once when it goes on, however often it would have. */
  sleep(ms: number): void;
  /** Runs what was put off by `soon`. */
  turn(): void;
}

interface Timer {
  dueMs: number;
  readonly everyMs: number | null;
  readonly task: () => void;
}

export function manualClock(startMs = 1_000_000): ManualClock {
  let nowMs = startMs; // monotonic
  let steppedMs = 0;
  const timers = new Set<Timer>();
  let soon: (() => void)[] = [];

  const add = (timer: Timer): (() => void) => {
    timers.add(timer);
    return () => timers.delete(timer);
  };
  const next = (untilMs: number): Timer | undefined =>
    [...timers].filter((timer) => timer.dueMs <= untilMs).sort((left, right) => left.dueMs - right.dueMs)[0];

  return {
    nowMs: () => nowMs + steppedMs,
    monotonicMs: () => nowMs,
    after: (delayMs, task) => add({ dueMs: nowMs + delayMs, everyMs: null, task }),
    every: (everyMs, task) => add({ dueMs: nowMs + everyMs, everyMs, task }),
    soon: (task) => {
      soon.push(task);
    },
    turn() {
      while (soon.length > 0) {
        const tasks = soon;
        soon = [];
        for (const task of tasks) task();
      }
    },
    stepWall(ms) {
      steppedMs += ms;
    },
    sleep(ms) {
      nowMs += ms;
      for (const timer of [...timers].filter(({ dueMs }) => dueMs <= nowMs)) {
        if (timer.everyMs === null) timers.delete(timer);
        else timer.dueMs = nowMs + timer.everyMs;
        timer.task();
      }
    },
    advance(ms) {
      const untilMs = nowMs + ms;
      for (let timer = next(untilMs); timer !== undefined; timer = next(untilMs)) {
        nowMs = timer.dueMs;
        if (timer.everyMs === null) timers.delete(timer);
        else timer.dueMs += timer.everyMs;
        timer.task();
      }
      nowMs = untilMs;
    },
  };
}
