/** The built server, copied: whoever builds again during a run changes nothing for workers that are started later in it. */
import { cp, mkdir, stat, symlink, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';

const REPOSITORY = fileURLToPath(new URL('../..', import.meta.url));

/** Copies `dist` (a folder) to `to`, from where it runs as `node main.js`. @throws an Error when it was not built. */
export async function copyApp(dist: string, to: string): Promise<void> {
  await stat(join(dist, 'main.js')).catch(() => {
    throw new Error(`${dist}/main.js is missing: npm run build`);
  });
  await mkdir(to, { recursive: true });
  await cp(dist, join(to, 'dist'), { recursive: true });
  await symlink(join(REPOSITORY, 'node_modules'), join(to, 'node_modules'));
  await writeFile(join(to, 'package.json'), '{"type":"module"}\n');
}
