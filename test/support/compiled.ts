/**
 * A TypeScript file and what it imports of this repository as plain JavaScript, for a process that a test starts. Through `tsx` every module is
 * found and translated anew in each process, with a message to another thread for each: some 4 s of a core for a server.
 */
import { existsSync } from 'node:fs';
import { mkdir, readdir, readFile, rm } from 'node:fs/promises';
import { basename, join } from 'node:path';
import { fileURLToPath, pathToFileURL } from 'node:url';
import { build, type Plugin } from 'esbuild';

const ROOT = fileURLToPath(new URL('../../', import.meta.url));
/** Within the repository, so that packages are found from there, and of this process alone: others compile the same files. */
const DIST = join(ROOT, 'dist');
const OUT = join(DIST, `compiled-${process.pid}`);
/** Hundreds of small modules, which take longer to find than to run. */
const TAKEN_ALONG = /^typebox($|\/)/;

/** Resolves with the path of the JavaScript, which is there while this process runs. `source` is relative to the repository. */
export async function compiled(source: string): Promise<string> {
  await mkdir(OUT, { recursive: true });
  await removeLeftovers();
  const outdir = join(OUT, source.replaceAll('/', '-'));
  await build({
    entryPoints: [join(ROOT, source)],
    outdir,
    bundle: true,
    splitting: true, // what is imported only where it is needed stays so
    platform: 'node',
    format: 'esm',
    target: 'node20',
    plugins: [packagesStayOutside, placesStay],
  });
  return join(outdir, basename(source).replace(/\.ts$/, '.js'));
}

/** What processes that have ended left: most of them are ended with no time to tidy up. */
async function removeLeftovers(): Promise<void> {
  for (const name of await readdir(DIST)) {
    const pid = Number(/^compiled-(\d+)$/.exec(name)?.[1]);
    if (pid > 0 && !existsSync(`/proc/${pid}`)) await rm(join(DIST, name), { recursive: true, force: true });
  }
}

const packagesStayOutside: Plugin = {
  name: 'packages stay outside',
  setup({ onResolve }) {
    onResolve({ filter: /^[^./]/ }, ({ path }) => (TAKEN_ALONG.test(path) ? undefined : { path, external: true }));
  },
};

/** `import.meta.url` is what it is in the source: files are found from there. */
const placesStay: Plugin = {
  name: 'places stay',
  setup({ onLoad }) {
    onLoad({ filter: /\.ts$/ }, async ({ path }) => {
      const place = JSON.stringify(pathToFileURL(path).href);
      return { contents: (await readFile(path, 'utf8')).replaceAll('import.meta.url', place), loader: 'ts' };
    });
  },
};
