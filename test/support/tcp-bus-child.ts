/**
 * A worker with a bus in a process of its own, to be killed or frozen. It prints its address when it listens, answers `echo` with the payload and
 * `hang` never, printing a line for it. It ends with its input.
 */
import { aTcpBus } from './tcp-workers.ts';

const bus = await aTcpBus();
bus.serve(({ kind, payload }) => {
  if (kind === 'echo') return payload;
  process.stdout.write('hung\n');
  return new Promise(() => undefined);
});
process.stdin.resume().on('end', () => process.exit());
process.stdout.write(`${bus.address}\n`);
