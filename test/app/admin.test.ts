import { once } from 'node:events';
import { createServer } from 'node:net';
import { expect, onTestFinished, test, vi } from 'vitest';
import { openAdmin } from '../../src/app/admin.ts';
import { silentLog } from '../../src/base/observe.ts';
import { readSettings } from '../../src/config.ts';

interface Order {
  readonly method?: string;
  readonly headers?: Record<string, string>;
}

async function anAdmin() {
  const state = { why: null as string | null, waits: null as string | null };
  const drain = vi.fn();
  const admin = await openAdmin(readSettings({ ADMIN_PORT: '0' }), {
    log: silentLog,
    whyNotReady: () => state.why,
    whatWaits: () => state.waits,
    drain,
  });
  onTestFinished(() => admin.close());
  const ask = async (path: string, order: Order = {}) => {
    const response = await fetch(`http://127.0.0.1:${admin.port}${path}`, order);
    return { status: response.status, text: await response.text(), headers: response.headers };
  };
  return { state, drain, ask, metrics: admin.metrics };
}

test('[AD1] /livez is 200 whether ready or not; /readyz is 200 when ready and else 503 with the reason', async () => {
  const { state, ask } = await anAdmin();
  expect(await ask('/readyz')).toMatchObject({ status: 200, text: 'ready\n' });
  state.why = 'it is draining';
  expect(await ask('/readyz')).toMatchObject({ status: 503, text: 'not ready: it is draining\n' });
  expect((await ask('/livez')).status).toBe(200);
  state.why = null;
  expect((await ask('/readyz')).status).toBe(200);
});

test('[AD8] a worker whose appends wait is ready all the same, and says so', async () => {
  const { state, ask } = await anAdmin();
  state.waits = 'the oldest change has waited 37 s for its commit';
  expect(await ask('/readyz')).toMatchObject({
    status: 200,
    text: 'ready, but the oldest change has waited 37 s for its commit\n',
  });
  state.why = 'it is draining';
  expect(await ask('/readyz')).toMatchObject({ status: 503, text: 'not ready: it is draining\n' });
});

test('[AD2] /metrics shows counters by label, histograms and gauges of this moment, and what the process says of itself', async () => {
  const { ask, metrics } = await anAdmin();
  let rooms = 3;
  metrics.gauge('atrium_rooms', () => rooms);
  metrics.count('atrium_journal_appends_total', 'committed', 7);
  metrics.count('atrium_journal_appends_total', 'fenced');
  metrics.observe('atrium_journal_flush_seconds', 0.004);
  const before = await ask('/metrics');
  expect(before.headers.get('content-type')).toContain('text/plain; version=0.0.4');
  rooms = 5;
  const lines = (await ask('/metrics')).text.split('\n');
  expect(before.text).toContain('\natrium_rooms 3\n');
  expect(lines).toEqual(
    expect.arrayContaining([
      'atrium_rooms 5',
      'atrium_connections 0',
      'atrium_journal_appends_total{outcome="committed"} 7',
      'atrium_journal_appends_total{outcome="fenced"} 1',
      'atrium_journal_flush_seconds_bucket{le="0.0025"} 0',
      'atrium_journal_flush_seconds_bucket{le="0.005"} 1',
      'atrium_journal_flush_seconds_count 1',
      expect.stringMatching(/^nodejs_eventloop_lag_p99_seconds \d/),
      expect.stringMatching(/^process_resident_memory_bytes \d/),
    ]),
  );
});

test('[AD3] POST /drain answers 202 and begins the drain; GET does not, nor does a web page', async () => {
  const { drain, ask } = await anAdmin();
  expect(await ask('/drain')).toMatchObject({ status: 405 });
  expect((await ask('/drain')).headers.get('allow')).toBe('POST');
  expect(await ask('/drain', { method: 'POST', headers: { origin: 'https://some.page' } })).toMatchObject({ status: 403 });
  expect(drain).not.toHaveBeenCalled();
  expect(await ask('/drain', { method: 'POST' })).toMatchObject({ status: 202 });
  expect(drain).toHaveBeenCalledTimes(1);
});

test('[AD4] anything else is 404 and says what there is; a wrong method is 405', async () => {
  const { ask } = await anAdmin();
  for (const path of ['/', '/v2/rooms', '/constructor', '/livez/']) {
    expect(await ask(path)).toMatchObject({ status: 404, text: expect.stringContaining('/readyz') });
  }
  expect(await ask('/metrics', { method: 'POST' })).toMatchObject({ status: 405 });
  expect(await ask('/livez', { method: 'HEAD' })).toMatchObject({ status: 200, text: '' });
});

test('[AD5] a port that is taken refuses to start and names the setting; without the setting there is none', async () => {
  const other = createServer().listen(0, '127.0.0.1');
  await once(other, 'listening');
  onTestFinished(() => void other.close());
  const { port } = other.address() as { port: number };
  const deps = { log: silentLog, whyNotReady: () => null, whatWaits: () => null, drain: () => undefined };
  await expect(openAdmin(readSettings({ ADMIN_PORT: String(port) }), deps)).rejects.toMatchObject({
    name: 'StartRefused',
    message: expect.stringMatching(new RegExp(`port ${port} is taken.* set ADMIN_PORT `)),
  });
  await expect(openAdmin(readSettings({ ADMIN_PORT: '0', ADMIN_HOST: '192.0.2.1' }), deps)).rejects.toThrow('set ADMIN_HOST');
  const none = await openAdmin(readSettings({}), deps);
  expect(none.port).toBeNull();
  await none.close();
});
