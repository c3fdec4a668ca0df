/** The commands and programs of `docs/connect.md`, one after the other, as somebody would paste them. */
import { execFile } from 'node:child_process';
import { readFileSync } from 'node:fs';
import { rm, writeFile } from 'node:fs/promises';
import { promisify } from 'node:util';
import { expect, onTestFinished, test } from 'vitest';
import { ask } from '../support/e2e/rest.ts';
import { aServer } from '../support/e2e/server.ts';

const server = await aServer();
const page = readFileSync('docs/connect.md', 'utf8');
const blocks = (language: string): string[] =>
  [...page.matchAll(new RegExp(`\`\`\`${language}\\n([\\s\\S]*?)\`\`\``, 'g'))].map(([, block]) => block!);
const env = { ...process.env, ATRIUM: server.url, SECRET_KEY: server.secretKey, PUBLIC_KEY: server.publicKey };
const run = promisify(execFile);

/** What Node 20 lacks of a browser, and the end, when all has arrived. */
const BEFORE = `import { WebSocket } from 'ws';\nglobalThis.WebSocket ??= WebSocket as never;\n`;
const AFTER: Readonly<Record<string, string>> = {
  enterRoom:
    "while (room.getStorageStatus() !== 'synchronized') await new Promise((resolve) => setTimeout(resolve, 20));\nleave();",
  WebsocketProvider:
    "if (!provider.synced) await new Promise((resolve) => provider.once('sync', resolve));\nawait new Promise((resolve) => setTimeout(resolve, 500));\nprovider.destroy();",
  authorize: 'if (status !== 200 || !JSON.parse(body).token) throw new Error(body);',
};

async function runProgram(program: string): Promise<void> {
  const [ending] = Object.entries(AFTER).flatMap(([mark, end]) => (program.includes(mark) ? [end] : []));
  const path = `test/e2e/docs-${process.pid}-${Math.random().toString(36).slice(2)}.tmp.ts`;
  onTestFinished(() => rm(path, { force: true }));
  await writeFile(path, `${BEFORE}${program}\n${ending}\nprocess.exit(0);\n`);
  await run(process.execPath, ['--import', 'tsx', path], { env, timeout: 20_000 });
}

test('[DC3] the commands and programs of the page work, one after the other', async () => {
  const [shell, programs] = [blocks('sh'), blocks('ts')];
  expect([shell.length, programs.length]).toEqual([3, 3]);
  const said: string[] = [];
  for (const block of shell.slice(0, 1)) said.push((await run('bash', ['-euc', block], { env })).stdout);
  expect(said[0]).toContain('"id":"my-room"');
  for (const program of programs) await runProgram(program);
  for (const block of shell.slice(1)) said.push((await run('bash', ['-euc', block], { env })).stdout);
  const { json: storage } = await ask(server, '/v2/rooms/my-room/storage?format=json');
  expect(storage).toEqual({ title: 'Plan', todos: ['write it down'] });
  const { json: ydoc } = await ask(server, '/v2/rooms/my-room/ydoc');
  expect(ydoc).toMatchObject({ notes: 'Hello' });
  expect(said[1]).toContain('"title":"Plan"');
}, 90_000);
