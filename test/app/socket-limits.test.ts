import { spawn } from 'node:child_process';
import { rm } from 'node:fs/promises';
import net from 'node:net';
import { expect, onTestFinished, test } from 'vitest';
import { socketLimits } from '../../src/app/socket-limits.ts';
import { silentLog } from '../../src/base/observe.ts';
import { compiled } from '../support/compiled.ts';
import { freePort } from '../support/e2e/free-port.ts';
import { until } from '../support/e2e/until.ts';
import { aDataDir } from '../support/postgres.ts';

test.each([
  { openFiles: null, asked: 20_000, connectionsMax: 20_000, socketsMax: Number.POSITIVE_INFINITY },
  { openFiles: 1_048_576, asked: 20_000, connectionsMax: 20_000, socketsMax: 1_047_576 },
  { openFiles: 20_000, asked: 20_000, connectionsMax: 18_050, socketsMax: 19_000 },
  { openFiles: 1_024, asked: 20_000, connectionsMax: 729, socketsMax: 768 },
  { openFiles: 1_024, asked: 10, connectionsMax: 10, socketsMax: 768 },
])(
  '[AP5] of $openFiles open files, asked for $asked: $connectionsMax WebSockets of $socketsMax sockets, and a warning where that is fewer',
  (row) => {
    const warned: unknown[] = [];
    const log = Object.assign(Object.create(silentLog), { warn: (fields: unknown) => warned.push(fields) });
    const { asked, openFiles, ...limits } = row;
    expect(socketLimits(asked, { openFiles, log })).toEqual(limits);
    expect(warned).toEqual(limits.connectionsMax < asked ? [{ asked, openFiles, connectionsMax: limits.connectionsMax }] : []);
  },
);

test.runIf(process.platform === 'linux')(
  '[AP5] a worker with more sockets at its door than it may open files goes on serving those who are in',
  async () => {
    const [port, dataDir] = [await freePort(), await aDataDir('atrium-test-files-')];
    onTestFinished(() => rm(dataDir, { recursive: true, force: true }));
    const { PATH = '', HOME = '' } = process.env;
    const child = spawn('sh', ['-c', 'ulimit -n 400; exec "$0" "$@"', process.execPath, await compiled('src/main.ts')], {
      env: { PATH, HOME, HOST: '127.0.0.1', PORT: String(port), DATA_DIR: dataDir, CONNECTIONS_MAX: '10' },
      stdio: 'ignore',
    });
    const ended = new Promise((resolve) => child.once('exit', resolve));
    onTestFinished(async () => {
      child.kill('SIGTERM');
      await ended;
    });
    await until('it serves', async () => (await fetch(`http://127.0.0.1:${port}/health`)).status === 200);
    const first = net.connect(port, '127.0.0.1');
    let heard = '';
    first.on('data', (data) => {
      heard += data;
    });
    const crowd = Array.from({ length: 500 }, () => net.connect(port, '127.0.0.1').on('error', () => undefined));
    onTestFinished(() => {
      for (const socket of [first, ...crowd]) socket.destroy();
    });
    await until('many are closed', () => crowd.filter(({ closed }) => closed).length >= 200);
    first.write('GET /health HTTP/1.1\r\nhost: x\r\n\r\n');
    await until('it answers', () => heard.includes('200 OK'));
  },
);
