import { expect, onTestFinished, test } from 'vitest';
import { openVitals } from '../../src/app/vitals.ts';
import { noMetrics } from '../../src/base/metrics.ts';
import { silentLog } from '../../src/base/observe.ts';
import { readSettings } from '../../src/config.ts';
import { until } from '../support/e2e/until.ts';

test('[OV13] frames that were heard later than the limit are strain, though the event loop comes in time', async () => {
  const lags = [0, 0];
  const intake = { readLagMs: () => lags.shift() ?? 60_001 };
  const settings = readSettings({ SHED_LAG_MS: '60000' });
  const { shedding } = openVitals(settings, { log: silentLog, metrics: noMetrics, workerName: 'w', intake });
  onTestFinished(() => shedding.close());
  expect(shedding.sheds('wake')).toBe(false);
  await until('it refuses to wake rooms', () => shedding.sheds('wake') || null);
  expect(lags).toEqual([]);
});
