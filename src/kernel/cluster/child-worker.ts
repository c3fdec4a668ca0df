/**
 * The port between a supervisor and the worker processes it starts: what they tell it, and what it can do to them. It knows neither what a
 * worker serves nor how processes are made.
 */
import type { Clock } from '../../base/clock.ts';
import type { Incarnation } from '../../base/ids.ts';

/** `refused`: it will not start, for a reason that an operator can act on. `alive`: its event loop turns. */
export type WorkerReport =
  | { readonly type: 'registered'; readonly incarnation: Incarnation }
  | { readonly type: 'serving'; readonly url: string }
  | { readonly type: 'refused'; readonly sentence: string }
  | { readonly type: 'alive' };

/** How often a worker says that it is alive. */
export const ALIVE_EVERY_MS = 1_000;

/** Says so from now on until this process ends, or hangs. */
export function stayAlive(link: Pick<SupervisorLink, 'report'>, clock: Pick<Clock, 'every'>): void {
  const say = (): void => void link.report({ type: 'alive' });
  say();
  clock.every(ALIVE_EVERY_MS, say);
}

export interface ChildExit {
  readonly code: number | null;
  readonly signal: string | null;
  /** Why there was no process to be had. */
  readonly err?: unknown;
}

export interface ChildEvents {
  /** A report may come after the exit: it was on its way. */
  onReport(report: WorkerReport): void;
  /** Once, in a later turn than the start: the process is no more, and that is proof. */
  onExit(exit: ChildExit): void;
}

export interface ChildWorker {
  /** Null when there was no process to be had; `onExit` follows. */
  readonly pid: number | null;
  /** Asks it to drain and end. */
  stop(): void;
  /** Ends it at once, in whatever state it is. */
  kill(): void;
}

export interface ChildOptions extends ChildEvents {
  readonly index: number;
  /** Settings of its own, on top of those of the supervisor. */
  readonly settings: Readonly<Record<string, string>>;
}

export type StartChild = (options: ChildOptions) => ChildWorker;

/** What a worker has of its supervisor. */
export interface SupervisorLink {
  /** Of the places for workers on this machine, which one it has; from 0. */
  readonly index: number;
  /** Resolves when the report is on its way; also when there is nobody left to hear it. */
  report(report: WorkerReport): Promise<void>;
  /** The supervisor has ended, in whatever way: nobody will start, stop or fence this worker any more. */
  onGone(task: () => void): void;
}
