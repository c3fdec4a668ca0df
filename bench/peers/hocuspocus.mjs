/** hocuspocus as its package has it: no extensions, no hooks, nothing on disk. */
import { Server } from '@hocuspocus/server';

const { HOST: address, PORT } = process.env;
await new Server({ address, port: Number(PORT), quiet: true, stopOnSignals: false }).listen();

process.once('SIGTERM', () => process.exit(0));
process.once('disconnect', () => process.exit(0)); // the runner is gone
