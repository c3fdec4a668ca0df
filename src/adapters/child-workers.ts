/**
 * Worker processes over `node:child_process`: how a supervisor starts them, and how a worker finds its supervisor. Both ends are here, because
 * they share the mark in the environment and the messages.
 *
 * Children inherit standard output and error, so their logs pass through; the channel for messages ends with either process.
 */
import { type ChildProcess, fork } from 'node:child_process';
import type { ChildExit, StartChild, SupervisorLink, WorkerReport } from '../kernel/cluster/child-worker.ts';

/** Set for children only: which place they have. It is no setting. */
const MARK = 'ATRIUM_WORKER';

/** Starts `entry`, a module, in a process with the arguments of Node that this one has, or with `execArgv`. */
export function childWorkers({
  entry,
  execArgv = process.execArgv,
}: {
  entry: string;
  execArgv?: readonly string[];
}): StartChild {
  return ({ index, settings, ...events }) => {
    const ended = once(events.onExit);
    let child: ChildProcess;
    try {
      child = fork(entry, [], {
        env: { ...process.env, ...settings, [MARK]: String(index) },
        execArgv: [...execArgv],
        stdio: ['ignore', 'inherit', 'inherit', 'ipc'],
      });
    } catch (error) {
      setImmediate(() => ended(notMade(error))); // as Node itself does for most reasons, but not for ENOMEM and E2BIG
      return NOBODY;
    }
    child.on('message', (message) => events.onReport(message as WorkerReport));
    child.on('exit', (code, signal) => ended({ code, signal }));
    // Besides a process that could not be made, a signal or message that could not be sent: then its exit follows.
    child.on('error', (error) => {
      if (child.pid === undefined) ended(notMade(error));
    });
    if (child.pid === undefined) return NOBODY;
    return { pid: child.pid, stop: () => void child.kill('SIGTERM'), kill: () => void child.kill('SIGKILL') };
  };
}

/** Node's `kill` would signal the number 0 here, which is this process with its whole group, or whatever number lies in memory. */
const NOBODY = { pid: null, stop: () => undefined, kill: () => undefined };

function notMade(err: unknown): ChildExit {
  return { code: null, signal: null, err };
}

/** Null in a process that nobody supervises. */
export function findSupervisor(): SupervisorLink | null {
  const index = Number(process.env[MARK]);
  if (process.send === undefined || !Number.isInteger(index)) return null;
  return {
    index,
    report: (report) =>
      new Promise((resolve) => {
        if (process.connected) process.send!(report, undefined, undefined, () => resolve());
        else resolve();
      }),
    onGone(task) {
      if (process.connected) process.once('disconnect', task);
      else task();
    },
  };
}

function once<Argument>(task: (argument: Argument) => void): (argument: Argument) => void {
  let hasRun = false;
  return (argument) => {
    if (hasRun) return;
    hasRun = true;
    task(argument);
  };
}
