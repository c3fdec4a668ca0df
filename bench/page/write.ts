/** Writes results/index.html from the records, with its script and styles in it. */
import { readFile, writeFile } from 'node:fs/promises';
import { createRequire } from 'node:module';
import { fileURLToPath } from 'node:url';
import { build } from 'esbuild';
import { chartsPage, type Entry } from './page.ts';

const PAGE = new URL('../results/index.html', import.meta.url);
const LINES = fileURLToPath(new URL('./browser/lines.ts', import.meta.url));
const STYLES = [
  createRequire(import.meta.url).resolve('uplot/dist/uPlot.min.css'),
  fileURLToPath(new URL('./page.css', import.meta.url)),
];

export async function writePage(entries: readonly Entry[]): Promise<void> {
  const { outputFiles } = await build({
    entryPoints: [LINES],
    bundle: true,
    write: false,
    format: 'iife',
    target: 'es2022',
    minify: true,
    legalComments: 'inline',
    logLevel: 'warning',
  });
  const styles = await Promise.all(STYLES.map((path) => readFile(path, 'utf8')));
  await writeFile(PAGE, chartsPage(entries, { script: outputFiles[0]!.text, styles }));
}
