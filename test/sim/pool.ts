/** A few processes that share the seeds of a run. */
import { type ChildProcess, fork } from 'node:child_process';
import { setPriority } from 'node:os';
import { compiled } from '../support/compiled.ts';
import { add, type Batch, emptyTally, type Tally } from './batch.ts';

/** What waits beside it for clocks and sockets comes first. */
const NICE = 5;
/** Most of what a seed makes dies young: with room for it, half of the collector's work goes away. */
const NODE_OPTIONS = ['--max-semi-space-size=64'];

export interface Run extends Batch {
  /** Whether the first seed that fails is enough. */
  readonly until: 'end' | 'first failure';
  /** Past it no more seeds are dealt out. */
  readonly budgetMs?: number;
  readonly onProgress?: (sum: Tally) => void;
}

export class Pool {
  readonly #children: readonly ChildProcess[];

  static async open(size: number): Promise<Pool> {
    return new Pool(size, await compiled('test/sim/seeds-child.ts'));
  }

  private constructor(size: number, program: string) {
    this.#children = Array.from({ length: size }, () => {
      const child = fork(program, { execArgv: NODE_OPTIONS, stdio: ['ignore', 'inherit', 'inherit', 'ipc'] });
      setPriority(child.pid!, NICE);
      return child;
    });
  }

  /** Seeds are dealt out in small batches; with two processes or more they end in no particular order. */
  async run({ from, seeds, mutant, only, until, budgetMs = Number.POSITIVE_INFINITY, onProgress }: Run): Promise<Tally> {
    const sum = emptyTally();
    const size = until === 'end' ? 25 : 5;
    const end = from + seeds;
    const deadlineMs = performance.now() + budgetMs;
    let next = from;
    const mayGoOn = (): boolean => next < end && (until === 'end' || sum.failures.length === 0) && performance.now() < deadlineMs;
    const drain = async (child: ChildProcess): Promise<void> => {
      while (mayGoOn()) {
        const batch = { from: next, seeds: Math.min(size, end - next), mutant, only };
        next += batch.seeds;
        add(sum, await ask(child, batch));
        onProgress?.(sum);
      }
    };
    await Promise.all(this.#children.map(drain));
    sum.failures.sort((left, right) => left.seed - right.seed);
    return sum;
  }

  close(): void {
    for (const child of this.#children) child.kill();
  }
}

function ask(child: ChildProcess, batch: Batch): Promise<Tally> {
  return new Promise((resolve, reject) => {
    const ended = (): void => reject(new Error(`the process ended with seeds from ${batch.from}`));
    child.once('exit', ended);
    child.once('message', (message) => {
      child.off('exit', ended);
      const { tally, error } = message as { tally?: Tally; error?: string };
      if (tally === undefined) reject(new Error(error));
      else resolve(tally);
    });
    child.send(batch);
  });
}
