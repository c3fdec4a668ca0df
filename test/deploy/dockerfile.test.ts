/** What can be known of the image without a container engine: its text, its healthcheck, what is sent to whoever builds it. */
import { execFile } from 'node:child_process';
import { existsSync, readFileSync } from 'node:fs';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { dirname } from 'node:path';
import { promisify } from 'node:util';
import { validate } from 'dockerfile-utils';
import { expect, onTestFinished, test } from 'vitest';
import { helpText } from '../../src/app/command-line.ts';
import { readSettings, SETTINGS } from '../../src/config.ts';
import { freePort } from '../support/e2e/free-port.ts';

const text = readFileSync('Dockerfile', 'utf8');
/** From the last FROM on: what is in the image. */
const image = text.slice(text.lastIndexOf('\nFROM'));
const environment: Record<string, string> = Object.fromEntries(
  [...image.matchAll(/([A-Z_]+)=(\S+)/g)].map(([, name, value]) => [name, value]),
);

test('[DK1] the Dockerfile has nothing that a linter objects to', () => {
  expect(validate(text)).toEqual([]);
  expect(validate('FROM node:22\nEXPOZE 80')).not.toEqual([]);
});

test('[DK2] the image runs as an ordinary user, with settings that exist, and exposes the ports of these settings', () => {
  expect(Object.keys(environment).filter((name) => !(name in SETTINGS))).toEqual([]);
  const { PORT, ADMIN_PORT, ADMIN_HOST, NODE_ENV } = readSettings(environment);
  expect(image).toContain(`EXPOSE ${PORT} ${ADMIN_PORT}`);
  expect({ ADMIN_HOST, NODE_ENV }).toEqual({ ADMIN_HOST: '127.0.0.1', NODE_ENV: 'production' });
  expect(image).toMatch(/\nUSER node\n/);
  expect(image).toMatch(/\nSTOPSIGNAL SIGTERM\n/);
});

test('[DK5] the preset that the help names is in the image, where the server looks for it', () => {
  const [, preset] = /such as (\S+\.json)/.exec(helpText())!;
  expect(existsSync(preset!)).toBe(true);
  expect(image).toContain(`\nCOPY ${dirname(preset!)} ./${dirname(preset!)}\n`);
  expect(readFileSync('.dockerignore', 'utf8').split('\n')).not.toContain(dirname(preset!));
});

test('[DK3] the healthcheck is 0 while /livez answers on ADMIN_PORT, else 1', async () => {
  const [, script] = /CMD \["node", "-e", "(.*)"\]/.exec(image)!;
  const check = (port: number): Promise<number> =>
    promisify(execFile)(process.execPath, ['-e', script!], { env: { ADMIN_PORT: String(port) } }).then(
      () => 0,
      ({ code }: { code: number }) => code,
    );
  const server = createServer((request, response) => response.writeHead(request.url === '/livez' ? 200 : 404).end());
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  onTestFinished(() => void server.close());
  expect(await check((server.address() as AddressInfo).port)).toBe(0);
  expect(await check(await freePort())).toBe(1);
});

test('[DK4] data, keys and history are not sent to whoever builds the image', () => {
  const ignored = readFileSync('.dockerignore', 'utf8').split('\n');
  for (const name of ['.atrium', '.env*', '.git', 'node_modules', '*.pem', '*.key']) expect(ignored).toContain(name);
});
