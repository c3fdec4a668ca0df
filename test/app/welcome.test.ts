import { expect, onTestFinished, test, vi } from 'vitest';
import { welcome } from '../../src/app/welcome.ts';
import { silentLog } from '../../src/base/observe.ts';
import { readSettings } from '../../src/config.ts';

const KEYS = { secretKeys: ['sk_dev_secret'], publicKey: 'pk_dev_public', made: { secretKey: true, publicKey: true } } as const;
const CLUSTER = { WORKERS: '2', REDIS_URL: 'redis://redis', DATABASE_URL: 'postgres://database', S3_BUCKET: 'atrium' };

function said(settings: Readonly<Record<string, string>>) {
  const log = { ...silentLog, info: vi.fn() };
  const write = vi.spyOn(process.stdout, 'write').mockReturnValue(true);
  onTestFinished(() => write.mockRestore());
  welcome({ url: 'http://localhost:8080', ...KEYS }, readSettings(settings), { log });
  return { lines: log.info.mock.calls, printed: write.mock.calls.map(([text]) => String(text)).join('') };
}

test('[LG7] who starts a server to try it reads what to paste', () => {
  const { lines, printed } = said({});
  expect(lines).toEqual([]);
  expect(printed).toContain('Atrium is ready at http://localhost:8080');
  expect(printed).toContain('sk_dev_secret');
});

test.each([
  ['in production', { NODE_ENV: 'production' }, 1],
  ['with several workers', CLUSTER, 2],
])('[LG7] %s one line of the log says that the server is ready, and names no key', (_, settings, workers) => {
  const { lines, printed } = said(settings);
  expect(lines).toEqual([[{ url: 'http://localhost:8080', workers }, 'server ready']]);
  expect(printed).toBe('');
});
