/**
 * What must not outlive this process, however it ends: a shell reads a pipe that ends with us, and then signals what it was given. It knows only
 * the ids that it was told, which are of processes that we started.
 */
import { spawn } from 'node:child_process';

/** Signals these processes (negative: groups) when this process ends; call the result to let them go. */
export function leash(signal: 'KILL' | 'CONT', pids: readonly number[]): () => void {
  const words = pids.map(String);
  const shell = spawn(
    'sh',
    ['-c', `trap '' INT TERM HUP; cat >/dev/null; kill -s ${signal} -- "$@" 2>/dev/null`, 'sh', ...words],
    {
      stdio: ['pipe', 'ignore', 'ignore'],
      detached: true,
    },
  );
  shell.stdin!.on('error', () => undefined); // it is gone; then so is what it watched
  shell.unref();
  return () => void shell.kill('SIGKILL');
}
