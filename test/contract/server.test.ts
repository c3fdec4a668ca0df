import { describe } from 'vitest';
import { makeNodeServer } from '../../src/adapters/node-server.ts';
import { loadUws } from '../../src/adapters/uws-server.ts';
import type { MakeServer } from '../../src/kernel/transport/server.ts';
import { serverContract, stallContract } from './server.contract.ts';

const adapters: readonly (readonly [name: string, load: () => Promise<MakeServer>])[] = [
  ['uWebSockets.js', loadUws],
  ['node:http and ws', async () => makeNodeServer],
];

for (const [name, load] of adapters) serverContract(name, load);
describe.concurrent('stalls', () => {
  for (const [name, load] of adapters) stallContract(name, load);
});
