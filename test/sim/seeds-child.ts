/** A process that runs the batches it is sent, one after the other. Nobody catches what nobody caught: it counts against the seed it ran. */
import { setPriority } from 'node:os';
import { runBatch } from './batch.ts';
import { reportStray } from './simulation.ts';

setPriority(10); // virtual time can wait: whoever measures real time beside it comes first
Error.stackTraceLimit = 0; // a refusal is no news here; `--seed` shows where errors come from
process.on('unhandledRejection', reportStray);
process.on('message', (batch) => {
  runBatch(batch as Parameters<typeof runBatch>[0]).then(
    (tally) => process.send!({ tally }),
    (error: unknown) => process.send!({ error: error instanceof Error ? error.stack : String(error) }),
  );
});
