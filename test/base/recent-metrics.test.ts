import { expect, test } from 'vitest';
import { noMetrics } from '../../src/base/metrics.ts';
import { RecentMetrics } from '../../src/base/recent-metrics.ts';
import { manualClock } from '../support/manual-clock.ts';

test('[CS8] totals since the start, gauges as of now, percentiles of the last 30 s and 512 values; all is handed on', () => {
  const heard: unknown[] = [];
  const clock = manualClock();
  const others = {
    ...noMetrics,
    count: (...call: unknown[]) => void heard.push(call),
    observe: (...call: unknown[]) => void heard.push(call),
  };
  const metrics = new RecentMetrics(others, clock);
  let rooms = 3;
  metrics.gauge('atrium_rooms', () => rooms);
  metrics.count('atrium_rest_requests_total', '2xx');
  metrics.count('atrium_rest_requests_total', '4xx', 2);
  metrics.observe('atrium_rest_request_seconds', 9);
  expect(heard).toEqual([
    ['atrium_rest_requests_total', '2xx', 1],
    ['atrium_rest_requests_total', '4xx', 2],
    ['atrium_rest_request_seconds', 9],
  ]);
  rooms = 4;
  expect(metrics.read()).toMatchObject({
    totals: { atrium_rest_requests_total: 3 },
    gauges: { atrium_rooms: 4, atrium_ready: 0 },
  });
  expect(metrics.read().recent.atrium_journal_flush_seconds).toEqual({ count: 0, p50: 0, p99: 0 });

  clock.advance(30_001);
  expect(metrics.read().recent.atrium_rest_request_seconds).toEqual({ count: 1, p50: 0, p99: 0 });
  for (let value = 1; value <= 100; value += 1) metrics.observe('atrium_rest_request_seconds', value);
  expect(metrics.read().recent.atrium_rest_request_seconds).toEqual({ count: 101, p50: 51, p99: 100 });
  for (let times = 0; times < 512; times += 1) metrics.observe('atrium_rest_request_seconds', 7);
  expect(metrics.read().recent.atrium_rest_request_seconds).toEqual({ count: 613, p50: 7, p99: 7 });
});
