/** What needs a process of its own: certificates, which Node reads at its start, and that nothing keeps a process alive. */
import { execFile } from 'node:child_process';
import { rm } from 'node:fs/promises';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { afterAll, describe, expect, test } from 'vitest';
import { compiled } from '../support/compiled.ts';
import { freePort } from '../support/e2e/free-port.ts';
import { aDataDir } from '../support/postgres.ts';
import { useNodes } from '../support/redis.ts';
import { services } from '../support/services.ts';

const run = promisify(execFile);
const CHILD = await compiled('test/support/redis-directory-child.ts');

/** What the child printed. @throws what it said otherwise, or when it did not end by itself. */
async function runChild(url: string, awaited: 'answer' | 'away', env: Record<string, string> = {}): Promise<unknown> {
  const options = { env: { ...process.env, ...env }, timeout: 20_000 };
  const { stdout, stderr } = await run(process.execPath, [CHILD, url, awaited], options);
  if (stderr !== '') throw new Error(stderr);
  return JSON.parse(stdout);
}

test.each(['redis://127.0.0.1:PORT', 'redis+sentinel://127.0.0.1:PORT/main', 'redis+cluster://127.0.0.1:PORT'])(
  '[RD27] a directory on %s that never connected lets its process end, and says nothing on its own',
  async (url) => {
    expect(await runChild(url.replace('PORT', String(await freePort())), 'away')).toEqual(expect.stringMatching(/Error/));
  },
);

describe.skipIf(!services.isOurs('redis'))('TLS', () => {
  const nodes = useNodes();
  const directories: string[] = [];
  afterAll(() => Promise.all(directories.map((directory) => rm(directory, { recursive: true }))));

  /** A certificate of its own making for 127.0.0.1, and what makes a server use it, on a port besides its plain one. */
  async function aCertificate(): Promise<{ certificate: string; settingsFor(port: number): string[] }> {
    const directory = await aDataDir('atrium-test-');
    directories.push(directory);
    const [key, certificate] = [join(directory, 'key.pem'), join(directory, 'certificate.pem')];
    const subject = ['-subj', '/CN=test', '-addext', 'subjectAltName=IP:127.0.0.1'];
    const made = ['-newkey', 'rsa:2048', '-nodes', '-days', '2', '-keyout', key, '-out', certificate];
    await run('openssl', ['req', '-x509', ...made, ...subject]);
    const files = ['--tls-cert-file', certificate, '--tls-key-file', key, '--tls-ca-cert-file', certificate];
    return {
      certificate,
      settingsFor: (port) => ['--tls-port', String(port), ...files, '--tls-auth-clients', 'no', '--tls-replication', 'yes'],
    };
  }

  test('[RD28] rediss:// in all its forms talks TLS, and only to a certificate that it can trust', async () => {
    const { certificate, settingsFor } = await aCertificate();
    const [port, sentinelPort, clusterPort] = [await freePort(), await freePort(), await freePort()];
    await nodes.start(settingsFor(port));
    await nodes.startSentinel(port, settingsFor(sentinelPort));
    const cluster = await nodes.start([
      ...settingsFor(clusterPort),
      ...['--cluster-enabled', 'yes', '--cluster-announce-ip', '127.0.0.1', '--tls-cluster', 'yes'],
      ...['--cluster-port', String(await freePort())],
    ]);
    await cluster.ask('cluster', 'addslotsrange', '0', '16383');
    const urls = [
      `rediss://127.0.0.1:${port}`,
      `rediss+sentinel://127.0.0.1:${sentinelPort}/main`,
      `rediss+cluster://127.0.0.1:${clusterPort}`,
    ];
    for (const url of urls) {
      expect(await runChild(url, 'answer', { NODE_EXTRA_CA_CERTS: certificate })).toMatchObject([{ incarnation: 'one' }]);
      expect(await runChild(url, 'away')).toEqual(expect.stringMatching(/Error/));
    }
  }, 120_000);
});
