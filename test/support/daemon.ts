/**
 * A server of another make as a child of the test process, which does not outlive it, however it ends.
 *
 * A shell stands between: it reads a pipe that ends with the test process, and then kills the server. Stopped ones too, and after Ctrl-C.
 */
import { type ChildProcess, spawn } from 'node:child_process';
import { readFile } from 'node:fs/promises';
import { join } from 'node:path';

const KEEPER = `
trap '' INT TERM HUP
"$@" >>"$LOG" 2>&1 &
child=$!
echo $child
cat >/dev/null
kill -9 $child 2>/dev/null
wait $child 2>/dev/null
`;

export interface Daemon {
  readonly pid: number;
  signal(signal: NodeJS.Signals): void;
  /** Kills it, without a chance to save or say anything. Resolves when it is gone. */
  kill(): Promise<void>;
  /** What it has printed, in all its lives in this directory. */
  output(): Promise<string>;
}

/** Starts it, without waiting for more than its process. `directory` takes its output. */
export async function startDaemon(command: readonly string[], { directory }: { directory: string }): Promise<Daemon> {
  const log = join(directory, 'output.log');
  const keeper = spawn('sh', ['-c', KEEPER, 'sh', ...command], {
    cwd: directory,
    env: { ...process.env, LOG: log },
    stdio: ['pipe', 'pipe', 'inherit'],
  });
  const pid = await childOf(keeper);
  const gone = new Promise<void>((resolve) => keeper.once('close', () => resolve()));
  return {
    pid,
    signal: (signal) => {
      process.kill(pid, signal);
    },
    kill: () => {
      keeper.stdin!.end();
      return gone;
    },
    output: () => readFile(log, 'utf8'),
  };
}

function childOf(keeper: ChildProcess): Promise<number> {
  return new Promise((resolve, reject) => {
    keeper.once('error', reject);
    keeper.stdout!.once('data', (line) => resolve(Number(line)));
  });
}
