import { expect, test } from 'vitest';
import { silentLog } from '../../src/base/observe.ts';
import { type Sheddable, Shedding } from '../../src/kernel/shedding.ts';
import { manualClock } from '../support/manual-clock.ts';

const CALM = { lagMs: 1, heapShare: 0.1 };
const LATE = { lagMs: 251, heapShare: 0.1 };
const FULL = { lagMs: 1, heapShare: 0.86 };
const KINDS: readonly Sheddable[] = ['wake', 'socket', 'read'];

function aShedding() {
  const clock = manualClock();
  const process = { strain: CALM };
  const limits = { lagMs: 250, heapShare: 0.85 };
  const shedding = new Shedding({ clock, log: silentLog, limits, readStrain: () => process.strain });
  const refused = (): string => KINDS.filter((kind) => shedding.sheds(kind)).join(' ');
  const after = (seconds: number, strain: typeof CALM): string => {
    process.strain = strain;
    clock.advance(seconds * 1_000);
    return refused();
  };
  return { shedding, refused, after };
}

test.each([
  ['a late event loop', LATE],
  ['a full heap', FULL],
])('[OV1] %s for five seconds on end: rooms are not woken, then no sockets taken, then no reads answered', (_, strain) => {
  const { refused, after } = aShedding();
  expect(refused()).toBe('');
  expect(after(4, strain)).toBe('');
  expect(after(1, strain)).toBe('wake');
  expect(after(4, strain)).toBe('wake');
  expect(after(1, strain)).toBe('wake socket');
  expect(after(5, strain)).toBe('wake socket read');
  expect(after(50, strain)).toBe('wake socket read');
});

test('[OV2] five good seconds take one kind back', () => {
  const { after } = aShedding();
  after(15, LATE);
  expect(after(4, CALM)).toBe('wake socket read');
  expect(after(1, CALM)).toBe('wake socket');
  expect(after(5, CALM)).toBe('wake');
  expect(after(5, CALM)).toBe('');
  expect(after(50, CALM)).toBe('');
  expect(after(5, LATE)).toBe('wake');
});

test('[OV2] each time that this was too early, it takes twice as many, up to a minute, until it was not', () => {
  const { refused, after } = aShedding();
  after(15, LATE);
  for (const goodSeconds of [5, 10, 20, 40, 60, 60]) {
    expect(after(goodSeconds - 1, CALM)).toBe('wake socket read');
    expect(after(1, CALM)).toBe('wake socket');
    expect(after(5, LATE)).toBe('wake socket read');
  }
  after(180, CALM);
  expect(refused()).toBe('');
  after(61, CALM);
  after(15, LATE);
  expect(after(5, CALM)).toBe('wake socket');
});

test('[OV2] that several kinds are refused again is one mistake', () => {
  const { after } = aShedding();
  after(15, LATE);
  expect(after(15, CALM)).toBe('');
  expect(after(15, LATE)).toBe('wake socket read');
  expect(after(9, CALM)).toBe('wake socket read');
  expect(after(1, CALM)).toBe('wake socket');
});

test('[OV2] a bad second among good ones costs five of them, not all', () => {
  const { refused, after } = aShedding();
  after(15, LATE);
  for (const goodSeconds of [5, 10, 20, 40]) {
    after(goodSeconds, CALM);
    after(5, LATE);
  }
  for (let minute = 0; minute < 6; minute += 1) {
    after(58, CALM);
    after(1, LATE);
  }
  expect(refused()).toBe('');
});

test('[OV3] seconds that come between begin the count anew; a figure at its limit is not above it', () => {
  const { after } = aShedding();
  for (let round = 0; round < 5; round += 1) {
    expect(after(4, LATE)).toBe('');
    expect(after(1, CALM)).toBe('');
  }
  expect(after(60, { lagMs: 250, heapShare: 0.85 })).toBe('');
  after(10, FULL);
  for (let round = 0; round < 5; round += 1) {
    expect(after(4, CALM)).toBe('wake socket');
    expect(after(1, LATE)).toBe('wake socket');
  }
});

test('[OV3] after its end it looks no more', () => {
  const { shedding, after } = aShedding();
  shedding.close();
  expect(after(60, LATE)).toBe('');
});
