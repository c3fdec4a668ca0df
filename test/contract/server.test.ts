import { spawn } from 'node:child_process';
import { describe, expect, test } from 'vitest';
import { makeNodeServer } from '../../src/adapters/node-server.ts';
import { loadUws } from '../../src/adapters/uws-server.ts';
import type { MakeServer } from '../../src/kernel/transport/server.ts';
import { compiled } from '../support/compiled.ts';
import { SILENT, serverContract, sharingContract, stallContract } from './server.contract.ts';

const adapters: readonly (readonly [name: string, load: () => Promise<MakeServer>])[] = [
  ['uWebSockets.js', loadUws],
  ['node:http and ws', async () => makeNodeServer],
];

for (const [name, load] of adapters) serverContract(name, load);
describe.concurrent('stalls', () => {
  for (const [name, load] of adapters) stallContract(name, load);
});

sharingContract('uWebSockets.js', loadUws);

test('[TR33] where a port cannot be shared, who wants to share it is refused by name: node:http and ws', async () => {
  const server = makeNodeServer(SILENT);
  await expect(server.listen({ host: '127.0.0.1', port: 0, sharing: 'shared' })).rejects.toMatchObject({
    name: 'StartRefused',
    message: expect.stringContaining('uWebSockets.js'),
  });
});

test.each(['uws', 'node'])('[TR30] after close nothing keeps the process alive: %s', async (name) => {
  const child = spawn(process.execPath, [await compiled('test/support/server-child.ts'), name], { timeout: 10_000 });
  let said = '';
  for (const stream of [child.stdout, child.stderr]) {
    stream.on('data', (data) => {
      said += data;
    });
  }
  const exit = await new Promise((resolve) => child.on('close', (code, signal) => resolve({ code, signal })));
  expect([exit, said]).toEqual([{ code: 0, signal: null }, 'closed\n']);
});
