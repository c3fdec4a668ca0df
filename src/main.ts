/** Looks whether this Node will do, then becomes the server: an older one cannot even read what that is made of, hence the late import. Nothing else. */
import { nodeRefusal } from './base/node-version.ts';

const refusal = nodeRefusal(process.versions.node);
if (refusal !== null) {
  process.stderr.write(`${refusal}\n`);
  process.exit(1);
}
const { serve } = await import('./app/serve.ts');
await serve(new URL(import.meta.url));
