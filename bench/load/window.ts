/** The measured part of a run: warm-up, then the window between two readings of the clocks. */
import { setTimeout as sleep } from 'node:timers/promises';
import type { Outcome, Trial, Values } from '../case.ts';
import { ARRIVAL_MS_MAX } from '../config.ts';
import { type CpuTimes, readCpu } from '../cpu.ts';
import { percentile } from '../metrics.ts';

/** What happened while the window was open. */
export interface Window {
  readonly seconds: number;
  /** CPU seconds spent in it. */
  readonly cpu: CpuTimes;
}

/** While load runs: waits for the warm-up, opens the window, closes it. */
export async function measure(trial: Trial, book: { open(): void; close(): void }): Promise<Window> {
  await sleep(trial.warmupSeconds * 1_000);
  return measureWhile(trial, async () => {
    book.open();
    await sleep(trial.seconds * 1_000);
    book.close();
  });
}

/** The window is open as long as the work takes. */
export async function measureWhile({ address }: Trial, work: () => Promise<unknown>): Promise<Window> {
  const before = readCpu(address);
  const openedAtMs = performance.now();
  await work();
  const seconds = (performance.now() - openedAtMs) / 1_000;
  const after = readCpu(address);
  return {
    seconds,
    cpu: {
      server: after.server - before.server,
      helpers: after.helpers - before.helpers,
      load: after.load - before.load,
      machine: after.machine - before.machine,
      stolen: after.stolen - before.stolen,
    },
  };
}

/** Waits until all that counts has arrived; gives up on what is not there in time. */
export async function settled(book: { readonly delivered: number; readonly expected: number }): Promise<void> {
  const deadlineMs = performance.now() + ARRIVAL_MS_MAX;
  while (book.delivered < book.expected && performance.now() < deadlineMs) await sleep(10);
}

/** Who had how much of a core while it was open. */
export function sharesIn({ seconds, cpu }: Window): Record<'loadBusy' | 'othersBusy' | 'stolen', number> {
  return {
    loadBusy: cpu.load / seconds,
    othersBusy: Math.max(0, cpu.machine - cpu.server - cpu.helpers - cpu.load) / seconds,
    stolen: cpu.stolen / seconds,
  };
}

export interface Counted {
  readonly window: Window;
  /** What the CPU is divided by, and the rate is made of. */
  readonly count: number;
  readonly latenciesMs: readonly number[];
  readonly completeness: number;
  readonly problems: readonly string[];
}

/** The values that all cases of this kind show. @throws an Error when nothing was counted: then there is nothing to show. */
export function outcomeOf({ window: { seconds, cpu }, count, latenciesMs, completeness, problems }: Counted): Outcome {
  if (count === 0 || latenciesMs.length === 0) throw new Error(['nothing arrived', ...problems].join('; '));
  const sorted = Float64Array.from(latenciesMs).sort();
  const values: Values = {
    cpuPerMillion: (cpu.server / count) * 1e6,
    helperCpuPerMillion: (cpu.helpers / count) * 1e6,
    p50Ms: percentile(sorted, 0.5),
    p99Ms: percentile(sorted, 0.99),
    perSecond: count / seconds,
    completeness,
    ...sharesIn({ seconds, cpu }),
  };
  return { values, problems: completeness < 1 ? [...problems, `only ${count} of what was expected came`] : problems };
}
