/**
 * What SDK clients wrote last stays, while their connections break, the server is killed and the room changes its owner. Each writes in a part of Storage of
 * its own, so that what must be there in the end is what it did, one thing after the other.
 */
import { LiveList, LiveMap, LiveObject } from '@liveblocks/client';
import { afterEach, beforeEach, describe, expect, test, vi } from 'vitest';
import { toJson } from '../../support/storage-documents.ts';
import { enter, FallingRoom, happen, pass, type Writer } from './falling-room.ts';
import { type Chance, chanceOf } from './sdk-replicas.ts';

vi.hoisted(() => {
  for (const name of ['warn', 'error'] as const) vi.spyOn(console, name).mockImplementation(() => undefined);
});

const STEPS = 80;
/** The last ones have found something. */
const SEEDS = [...Array.from({ length: 25 }, (_, seed) => seed + 1), 63, 99, 168, 2003];
const REST_MS = 60_000;
const WAITS_MAX = 10;
const KEYS = ['a', 'b'];

beforeEach(() => void vi.useFakeTimers());
afterEach(() => {
  vi.clearAllTimers();
  vi.useRealTimers();
  vi.mocked(Math.random).mockRestore();
});

/** One edit of the part of Storage that is `mine`, and the same of the plain value that it must come to. */
type Edit = (mine: LiveObject<any>, model: any, chance: Chance, value: number) => void;

const pick = <T>(items: readonly T[], chance: Chance): T => items[Math.floor(chance() * items.length)]!;

const ofMap: Edit = (mine, model, chance, value) => {
  const map = mine.get('map') as LiveMap<string, any>;
  const key = pick(KEYS, chance);
  if (chance() < 0.25 && map.get(key) === model.map[key]) {
    map.delete(key); // of what it shows: that may be an older value, which is answered
    delete model.map[key];
  } else {
    map.set(key, value);
    model.map[key] = value;
  }
};

const ofObject: Edit = (mine, model, chance, value) => {
  const object = mine.get('object') as LiveObject<any>;
  const key = pick(KEYS, chance);
  if (chance() < 0.25) {
    object.delete(key);
    delete model.object[key];
  } else {
    object.set(key, value);
    model.object[key] = value;
  }
};

/** Objects within objects, which are replaced, or changed once they are there. */
const ofNested: Edit = (mine, model, chance, value) => {
  const map = mine.get('nested') as LiveMap<string, any>;
  const key = pick(KEYS, chance);
  const inner = map.get(key) as LiveObject<any> | undefined;
  const isShown = inner !== undefined && inner.get('at') === model.nested[key]?.at; // what comes again shows in between
  if (!isShown || chance() < 0.3) {
    map.set(key, new LiveObject({ at: value }));
    model.nested[key] = { at: value };
  } else if (chance() < 0.2) {
    map.delete(key);
    delete model.nested[key];
  } else {
    inner.set('at', value);
    model.nested[key].at = value;
  }
};

/** Not moves: a client may throw when it makes one again (protocol 6.5). */
const ofList: Edit = (mine, model, chance, value) => {
  const list = mine.get('list') as LiveList<any>;
  if (JSON.stringify(list.toJSON()) !== JSON.stringify(model.list)) return; // what comes again shows in between
  const at = Math.floor(chance() * list.length);
  if (list.length === 0 || chance() < 0.5) {
    list.push(value);
    model.list.push(value);
  } else {
    list.set(at, value);
    model.list[at] = value;
  }
};

/** One of the things that break. What a client sent over a connection that is gone the server reads sooner or later, or never. */
async function fall(room: FallingRoom, chance: Chance): Promise<void> {
  const wires = [...room.wires].filter(({ isCut }) => !isCut);
  const wire = wires[Math.floor(chance() * wires.length)];
  const kind = Math.floor(chance() * 6);
  if (kind === 0) room.kill();
  else if (kind === 1) room.takeOver();
  else {
    if (kind < 4 && wire !== undefined) wire.up.length = 0;
    wire?.close(1006);
  }
}

async function play(seed: number, edit: Edit) {
  const chance = chanceOf(seed);
  vi.spyOn(Math, 'random').mockImplementation(chanceOf(seed + 1_000));
  const room = new FallingRoom();
  const writers: Writer[] = [];
  const models: any[] = [];
  for (const name of ['ann', 'bob']) {
    const writer = await enter(room, chance);
    const parts = { map: new LiveMap(), object: new LiveObject({}), nested: new LiveMap(), list: new LiveList<any>([]) };
    writer.root.set(name, new LiveObject(parts));
    models.push({ map: {}, object: {}, nested: {}, list: [] });
    writers.push(writer);
    await pass(room, chance, 500);
  }
  const names = ['ann', 'bob'];
  for (let step = 0; step < STEPS; step += 1) {
    const one = Math.floor(chance() * 2);
    const mine = writers[one]!.root.get(names[one]!) as LiveObject<any>;
    edit(mine, models[one], chance, step);
    if (chance() < 0.6) await vi.advanceTimersByTimeAsync(pick([1, 1, 17, 100, 300], chance));
    if (chance() < 0.6) await happen(room, chance, 'some');
    if (chance() < 0.15) await fall(room, chance);
  }
  await pass(room, chance, REST_MS);
  const isAtRest = (): boolean => writers.every(({ room: { getStatus } }) => getStatus() === 'connected');
  for (let waits = 0; waits < WAITS_MAX && !isAtRest(); waits += 1) await pass(room, chance, REST_MS);
  return { room, writers, wanted: Object.fromEntries(names.map((name, one) => [name, models[one]])) };
}

const PARTS = { map: ofMap, object: ofObject, nested: ofNested, list: ofList } as const;

describe('two SDK clients, each in a part of Storage of its own, whose room falls again and again', () => {
  for (const [part, edit] of Object.entries(PARTS))
    test.each(SEEDS)(`[ST44] end with what they wrote last (${part}, seed %i)`, async (seed) => {
      const { room, writers, wanted } = await play(seed, edit);
      expect(toJson(room.state.storage)).toEqual(wanted);
      for (const { room: seen, root, leave } of writers) {
        expect(seen.getStorageStatus()).toBe('synchronized');
        if (part !== 'list') expect(root.toJSON()).toEqual(wanted);
        leave();
      }
    });
});
