/**
 * Two SDK clients write in one list, while what they send and hear is late: both end with the same, and what one of them added stays until somebody
 * replaces or deletes it. Moves are left out (protocol 6.5).
 */
import { LiveList, type LiveObject } from '@liveblocks/client';
import { afterEach, beforeEach, expect, test, vi } from 'vitest';
import { toJson } from '../../support/storage-documents.ts';
import { enter, FallingRoom, happen, pass, type Writer } from './falling-room.ts';
import { type Chance, chanceOf } from './sdk-replicas.ts';

vi.hoisted(() => {
  for (const name of ['warn', 'error'] as const) vi.spyOn(console, name).mockImplementation(() => undefined);
});

const STEPS = 80;
const SEEDS = Array.from({ length: 50 }, (_, seed) => seed + 101);

beforeEach(() => void vi.useFakeTimers());
afterEach(() => {
  vi.clearAllTimers();
  vi.useRealTimers();
  vi.mocked(Math.random).mockRestore();
});

/** What became of the values of a list, each of which is written once. */
interface Ledger {
  readonly added: Set<number>;
  /** Replaced or deleted, by whoever saw it. */
  readonly dropped: Set<number>;
}

function edit(list: LiveList<number>, value: number, chance: Chance, { added, dropped }: Ledger): void {
  const at = Math.floor(chance() * list.length);
  const kind = chance();
  if (list.length === 0 || kind < 0.35) {
    list.push(value);
    added.add(value);
  } else if (kind < 0.45) {
    list.insert(value, at);
    added.add(value);
  } else {
    dropped.add(list.get(at)!);
    if (kind < 0.85) list.set(at, value);
    else list.delete(at);
  }
}

async function bothIn(room: FallingRoom, chance: Chance): Promise<Writer[]> {
  const ann = await enter(room, chance);
  ann.root.set('list', new LiveList<number>([]));
  await pass(room, chance, 500);
  return [ann, await enter(room, chance)];
}

const listOf = (root: LiveObject<any>): LiveList<number> => root.get('list');

test.each(SEEDS)(
  '[ST46] what one adds to a list stays until somebody replaces or deletes it, and both see the same (seed %i)',
  async (seed) => {
    const chance = chanceOf(seed);
    vi.spyOn(Math, 'random').mockImplementation(chanceOf(seed + 1_000));
    const room = new FallingRoom();
    const writers = await bothIn(room, chance);
    const ledger: Ledger = { added: new Set(), dropped: new Set() };
    for (let step = 0; step < STEPS; step += 1) {
      edit(listOf(writers[Math.floor(chance() * 2)]!.root), step, chance, ledger);
      if (chance() < 0.6) await vi.advanceTimersByTimeAsync([1, 1, 17, 100, 300][Math.floor(chance() * 5)]!);
      if (chance() < 0.6) await happen(room, chance, 'some');
    }
    await pass(room, chance, 10_000);
    const { list } = toJson(room.state.storage) as { readonly list: number[] };
    for (const { root, leave } of writers) {
      expect(listOf(root).toJSON()).toEqual(list);
      leave();
    }
    expect([...ledger.added].filter((value) => !ledger.dropped.has(value) && !list.includes(value))).toEqual([]);
  },
);
