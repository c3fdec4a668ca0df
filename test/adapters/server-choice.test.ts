import { expect, test, vi } from 'vitest';
import { makeNodeServer } from '../../src/adapters/node-server.ts';
import { chooseServer } from '../../src/adapters/server-choice.ts';
import { silentLog } from '../../src/base/observe.ts';

function aLog() {
  return { ...silentLog, info: vi.fn(), warn: vi.fn() };
}

test('[TR32] where the native binary loads, it serves, and the log says so once', async () => {
  const log = aLog();
  expect(await chooseServer({ log })).not.toBe(makeNodeServer);
  expect(log.info.mock.calls).toEqual([[{ server: 'uWebSockets.js' }, 'server chosen']]);
  expect(log.warn).not.toHaveBeenCalled();
});

test('[TR32] where it does not, node:http and ws take over, and one line says why', async () => {
  const log = aLog();
  const make = await chooseServer({ log, load: () => Promise.reject(new Error('no binary for musl')) });
  expect(make).toBe(makeNodeServer);
  expect(log.warn.mock.calls).toEqual([[{ server: 'node:http and ws', reason: 'no binary for musl' }, 'server chosen']]);
  expect(log.info).not.toHaveBeenCalled();
});
