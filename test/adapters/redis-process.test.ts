/** What needs a process of its own: certificates, which Node reads at its start, and that nothing keeps a process alive. */
import { execFile } from 'node:child_process';
import { rm } from 'node:fs/promises';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { afterAll, describe, expect, test } from 'vitest';
import { compiled } from '../support/compiled.ts';
import { freePort } from '../support/e2e/free-port.ts';
import { until } from '../support/e2e/until.ts';
import { aDataDir } from '../support/postgres.ts';
import { useNodes } from '../support/redis.ts';
import { services } from '../support/services.ts';
import { startTcpProxy, type TcpProxy } from '../support/tcp-proxy.ts';

const run = promisify(execFile);
const CHILD = await compiled('test/support/redis-directory-child.ts');

/** What the child printed. @throws what it said otherwise, or when it did not end by itself. */
async function runChild(url: string, awaited: 'answer' | 'away' | 'run', env: Record<string, string> = {}): Promise<unknown> {
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
  const closing: (() => Promise<unknown>)[] = [];
  afterAll(() => Promise.all(closing.map((close) => close())));

  /** A certificate of its own making for 127.0.0.1, and what makes a server use it, on a port besides its plain one. */
  async function aCertificate(): Promise<{ certificate: string; settingsFor(port: number): string[] }> {
    const directory = await aDataDir('atrium-test-');
    closing.push(() => rm(directory, { recursive: true }));
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

  /** One that serves alone, one under a sentinel and a cluster of one: all that is dialled, the sentinel included, lies behind a proxy. */
  async function inAllForms() {
    const { certificate, settingsFor } = await aCertificate();
    const behindProxy = async () => {
      const port = await freePort();
      const proxy = await startTcpProxy({ target: { host: '127.0.0.1', port } });
      closing.push(() => proxy.close());
      return { proxy, settings: settingsFor(port) };
    };
    const [host, master, sentinel, member] = [await behindProxy(), await behindProxy(), await behindProxy(), await behindProxy()];
    await nodes.start(host.settings);
    await nodes.start(master.settings);
    await nodes.startSentinel(master.proxy.port, sentinel.settings);
    const cluster = await nodes.start([
      ...member.settings,
      ...['--cluster-enabled', 'yes', '--tls-cluster', 'yes', '--cluster-port', String(await freePort())],
      ...['--cluster-announce-ip', '127.0.0.1', '--cluster-announce-tls-port', String(member.proxy.port)],
    ]);
    await cluster.ask('cluster', 'addslotsrange', '0', '16383');
    return {
      trusting: { NODE_EXTRA_CA_CERTS: certificate },
      forms: [
        { url: `rediss://${host.proxy.address}`, sentinel: null, proxy: host.proxy },
        { url: `rediss+sentinel://${sentinel.proxy.address}/main`, sentinel: sentinel.proxy, proxy: master.proxy },
        { url: `rediss+cluster://${member.proxy.address}`, sentinel: null, proxy: member.proxy },
      ],
    };
  }

  test('[RD28] rediss:// in all its forms talks TLS, and only to a certificate that it can trust', async () => {
    const { trusting, forms } = await inAllForms();
    for (const { url } of forms) {
      expect(await runChild(url, 'answer', trusting)).toMatchObject([{ incarnation: 'one' }]);
      expect(await runChild(url, 'away')).toEqual(expect.stringMatching(/Error/));
    }
  }, 120_000);

  test('[RD29] a TLS connection that tells of one error after another costs no process, in any of its forms', async () => {
    const { trusting, forms } = await inAllForms();
    for (const { url, sentinel, proxy } of forms) {
      if (sentinel !== null) garble(sentinel, { behind: HANDSHAKE + 1 });
      garble(proxy, { behind: HANDSHAKE + 4 });
      const healing = sentinel === null ? heal(proxy) : heal(sentinel).then(() => heal(proxy));
      const [run] = await Promise.all([runChild(url, 'run', trusting), healing]);
      expect(run).toBe(true);
    }
  }, 120_000);
});

/** A record of TLS that no key deciphers. */
const NOT_FROM_THE_SERVER = Buffer.from('170303000501020304ff', 'hex');
/** Pieces of a client before its first message. */
const HANDSHAKE = 2;
const TRIES = 4;

/** On a wire so long that a client writes on before it hears that the server has closed. */
function garble(proxy: TcpProxy, { behind }: { behind: number }): void {
  proxy.delay({ ms: 20 });
  proxy.interject({ bytes: NOT_FROM_THE_SERVER, behind });
}

/** After some tries. */
async function heal(proxy: TcpProxy): Promise<void> {
  const before = proxy.accepted;
  await until('it was dialled in vain', () => proxy.accepted >= before + TRIES);
  proxy.heal();
}
