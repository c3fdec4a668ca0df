/** One worker as a process that nobody supervises: what signals do to it. */
import { expect, test } from 'vitest';
import { compiled } from '../support/compiled.ts';
import { aDataDir, usePostgres } from '../support/postgres.ts';
import { Supervised } from '../support/supervised.ts';

const postgres = usePostgres();
const main = await compiled('src/main.ts');

async function start(settings: Readonly<Record<string, string>>): Promise<Supervised> {
  return new Supervised([main], {
    HOST: '127.0.0.1',
    PORT: '0',
    DATA_DIR: await aDataDir('atrium-worker-'),
    NODE_ENV: 'production',
    DEMO: 'false',
    CONSOLE: 'false',
    SECRET_KEY: 'sk_for_the_signals_test',
    PUBLIC_KEY: 'pk_for_the_signals_test',
    ...settings,
  });
}

test.each<NodeJS.Signals>(['SIGTERM', 'SIGINT', 'SIGHUP'])('[AP10] %s drains a worker, and the code is 0', async (signal) => {
  const worker = await start({ DATABASE_URL: await postgres.database() });
  await worker.line('it serves', ({ msg }) => msg === 'server ready');
  expect(await worker.stop(signal)).toEqual({ code: 0, signal: null });
});

test('[AP9] SIGTERM while the start waits for the database ends the process at once, and the code is 0', async () => {
  const worker = await start({ DATABASE_URL: 'postgres://atrium@127.0.0.1:1/rooms' });
  await worker.line('it waits', ({ msg }) => msg === 'the start waits for the database');
  worker.signal('SIGTERM');
  const end = await worker.exited;
  expect({ end, stderr: worker.stderr }).toEqual({ end: { code: 0, signal: null }, stderr: '' });
}, 15_000);
