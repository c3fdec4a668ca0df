import { isDeepStrictEqual } from 'node:util';
import { expect, test } from 'vitest';
import { RequestRing, type RingEntry } from '../../src/room/request-ring.ts';
import { Dice } from '../fuzz/dice.ts';

const SLOTS = 50;
const STEPS = 20_000;

/** The same with a map; of its own slots a ring may lose some to those that were taken out of the middle. */
class Model {
  readonly known = new Map<string, RingEntry>();

  add(entry: RingEntry): void {
    this.known.delete(entry.id);
    this.known.set(entry.id, entry);
  }
}

/** As `toEqual`, which by itself takes ten times as long. */
function expectSame(actual: unknown, expected: unknown): void {
  if (!isDeepStrictEqual(actual, expected)) expect(actual).toEqual(expected);
}

/** Ids that the index tells apart, and ids that all have one place in it. */
const NAMINGS: readonly ((number: number) => string)[] = [(number) => `${number}`, (number) => `the same ${number}`];

test('[ID25] a ring knows what a map knows, as far as it reaches', () => {
  for (const [seed, idOf] of NAMINGS.entries()) {
    const dice = new Dice(seed);
    const [ring, model] = [new RequestRing(SLOTS), new Model()];
    for (let step = 0; step < STEPS; step += 1) {
      const entry = { id: idOf(dice.below(3 * SLOTS)), digest: `of ${step}`, atMs: step };
      const toGo = ring.nextToGo;
      ring.add(entry);
      model.add(entry);
      if (toGo !== null && toGo !== entry.id) expectSame(ring.find(toGo), null);
      const all = ring.all();
      expectSame(all, [...model.known.values()].slice(-all.length));
      const some = idOf(dice.below(3 * SLOTS));
      expectSame(ring.find(some), all.find(({ id }) => id === some) ?? null);
    }
  }
});

test('[ID25] what is stored of a ring makes one that knows the same, as far back as is asked for, and goes on like it', () => {
  const dice = new Dice(3);
  const ring = new RequestRing(SLOTS);
  for (let step = 0; step < STEPS / 10; step += 1) {
    ring.add({ id: `${dice.below(2 * SLOTS)}`, digest: `of ${step}`, atMs: step });
    const sinceMs = step - dice.below(2 * SLOTS);
    const other = new RequestRing(SLOTS);
    other.restore(ring.stored(sinceMs));
    expect(other.all()).toEqual(ring.all().filter(({ atMs }) => atMs >= sinceMs));
    expect(other.newestMs).toBe(step);
    const another = { id: 'another', digest: 'of it', atMs: step };
    other.add(another);
    expect(other.all().at(-1)).toEqual(another);
    expect(other.find(`${dice.below(2 * SLOTS)}`)?.atMs ?? sinceMs).toBeGreaterThanOrEqual(sinceMs);
  }
});

test('[ID1] a ring of new ids knows as many as it has slots, from the first on', () => {
  const ring = new RequestRing(SLOTS);
  for (let step = 0; step < 4 * SLOTS; step += 1) {
    ring.add({ id: `${step}`, digest: 'same', atMs: step });
    expect(ring.all().length).toBe(Math.min(step + 1, SLOTS));
  }
});

test('[ID25] what is no digest is refused, and looked for in vain', () => {
  const ring = new RequestRing(SLOTS);
  const long = 'x'.repeat(23);
  for (const id of ['', long]) expect(() => ring.add({ id, digest: 'of it', atMs: 0 })).toThrow(RangeError);
  expect(() => ring.add({ id: 'a', digest: long, atMs: 0 })).toThrow(RangeError);
  expect([ring.find(''), ring.find(long), ring.all()]).toEqual([null, null, []]);
});
