import { expect, test } from 'vitest';
import { IdleStops } from '../../../src/kernel/actor/idle-stops.ts';
import { manualClock } from '../../support/manual-clock.ts';

test('[DO4] where thousands wait several stop in each turn', () => {
  const clock = manualClock();
  const stops = new IdleStops(clock);
  let stopped = 0;
  for (let actor = 0; actor < 10_001; actor += 1) stops.next(() => (stopped += 1));
  expect(stopped).toBe(1);
  clock.advance(10);
  expect(stopped).toBe(5);
  clock.advance(500 * 10);
  expect(stopped).toBeGreaterThan(900);
  clock.advance(60_000);
  expect(stopped).toBe(10_001);
  stops.next(() => (stopped += 1));
  stops.next(() => (stopped += 1));
  stops.close();
  clock.advance(60_000);
  expect(stopped).toBe(10_002);
});
