/** `npm run import`: looks whether this Node will do, as `main.ts` does, then runs the import. Nothing else. */
import { nodeRefusal } from './base/node-version.ts';

const refusal = nodeRefusal(process.versions.node);
if (refusal !== null) {
  process.stderr.write(`${refusal}\n`);
  process.exit(1);
}
const { importAsAsked } = await import('./app/import/command.ts');
await importAsAsked();
