/**
 * Bundles the pages into dist/web: names with a hash of the content, each compressed beside it, and an HTML page for each. Run by
 * `npm run build`, and by tests of the pages; it takes some 300 ms.
 */
import { mkdir, readdir, readFile, rename, rm, writeFile } from 'node:fs/promises';
import { basename, dirname, join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { promisify } from 'node:util';
import { gzip } from 'node:zlib';
import { build } from 'esbuild';

const HERE = new URL('./', import.meta.url);
const OUT = fileURLToPath(new URL('../../dist/web/', HERE));
const PAGES = ['demo', 'console'];

/** Several may run at once: files appear whole or not at all, and what a page names is there before the page. */
async function buildWeb(out) {
  const files = [...(await bundles()), ...(await statics())];
  const pages = await Promise.all(
    PAGES.map((page) =>
      pageOf(
        page,
        files.map(([path]) => path),
      ),
    ),
  );
  const zipped = await Promise.all(files.map(async ([path, bytes]) => [`${path}.gz`, await promisify(gzip)(bytes)]));
  const all = [...zipped, ...files, ...pages];
  for (const [path, bytes] of all) await writeWhole(join(out, path), bytes);
  const wanted = new Set(all.map(([path]) => path));
  await removeOthers(out, wanted);
}

async function bundles() {
  const { outputFiles } = await build({
    absWorkingDir: fileURLToPath(HERE),
    entryPoints: PAGES.map((page) => ({ in: `${page}/main.tsx`, out: page })),
    entryNames: '[name]-[hash]',
    bundle: true,
    write: false,
    format: 'esm',
    target: 'es2023',
    jsx: 'automatic',
    minify: true,
    legalComments: 'linked',
    outdir: '/',
    define: { 'process.env.NODE_ENV': '"production"' },
    logLevel: 'warning',
  });
  return outputFiles.map(({ path, contents }) => [`assets/${basename(path)}`, contents]);
}

/** Data of the emoji picker in the form of emojibase, which would else be asked of a server of others. */
async function statics() {
  const emoji = JSON.parse(await readFile(new URL('demo/emoji.json', HERE), 'utf8'));
  const data = emoji.map(([unicode, label, tags], order) => {
    const hexcode = [...unicode].map((sign) => sign.codePointAt(0).toString(16).toUpperCase()).join('-');
    return { emoji: unicode, label, tags: tags.split(' '), hexcode, group: 0, subgroup: 0, order, version: 1, type: 1 };
  });
  const groups = [{ key: 'smileys-emotion', message: 'Emoji', order: 0 }];
  const tones = ['light', 'medium-light', 'medium', 'medium-dark', 'dark'].map((key) => ({ key, message: `${key} skin tone` }));
  return [
    ['assets/mark.svg', await readFile(new URL('shared/mark.svg', HERE))],
    ['assets/emoji/en/data.json', JSON.stringify(data)],
    ['assets/emoji/en/messages.json', JSON.stringify({ groups, subgroups: [], skinTones: tones })],
  ];
}

async function pageOf(page, paths) {
  const html = await readFile(new URL(`${page}/page.html`, HERE), 'utf8');
  const assetOf = (kind) => `/${paths.find((path) => path.startsWith(`assets/${page}-`) && path.endsWith(`.${kind}`))}`;
  return [`${page}.html`, html.replace(/\{\{(\w+)\}\}/g, (_, kind) => assetOf(kind))];
}

async function writeWhole(path, bytes) {
  await mkdir(dirname(path), { recursive: true });
  const made = `${path}.${process.pid}.tmp`;
  await writeFile(made, bytes);
  await rename(made, path);
}

/** Bundles of earlier builds. What another build is just writing stays. */
async function removeOthers(out, wanted) {
  const entries = await readdir(out, { recursive: true, withFileTypes: true });
  for (const entry of entries) {
    const path = join(entry.parentPath, entry.name);
    if (entry.isFile() && !entry.name.endsWith('.tmp') && !wanted.has(path.slice(out.length))) await rm(path, { force: true });
  }
}

if (process.argv[1] === fileURLToPath(import.meta.url)) await buildWeb(OUT);
