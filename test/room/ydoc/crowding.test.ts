import { afterEach, describe, expect, test, vi } from 'vitest';
import * as Y from 'yjs';
import { AppError } from '../../../src/base/errors.ts';
import { readYdocJson } from '../../../src/room/ydoc/json.ts';
import { YDOC_LIMITS, type YdocLimits } from '../../../src/room/ydoc/limits.ts';
import { materialise } from '../../../src/room/ydoc/live.ts';
import { metered, StepMeter } from '../../../src/room/ydoc/steps.ts';
import {
  acceptUpdate,
  compactYdoc,
  decodeYdoc,
  emptyYdoc,
  encodeYdoc,
  factsOf,
  missingFor,
  releaseYdoc,
  replayUpdate,
  stateVector,
  type Ydoc,
} from '../../../src/room/ydoc/ydoc.ts';
import { aRoom, id, messages, newcomer, say } from '../../support/a-room.ts';
import { acceptAll, block, bytes, type Chance, chanceOf, docOf, from, hashOf, string, stringAfter, typing } from './builders.ts';

const HAS_ORIGIN = 0x80;
const HAS_RIGHT = 0x40;

/** Elements one behind the other, which Yjs cannot join: one for each character. */
function chain(client: number, structs: number): Uint8Array {
  const behind = (_: unknown, index: number): Uint8Array => bytes({ byte: 3 | HAS_ORIGIN }, client, index, 'x');
  return block(client, 0, bytes(3, 1, 'text', 'x'), ...Array.from({ length: structs - 1 }, behind));
}

/** As many at the start, each before another one of that chain: each walks over all others. */
function bomb(client: number, structs: number, chained: number): Uint8Array {
  const before = (_: unknown, index: number): Uint8Array => bytes({ byte: 3 | HAS_RIGHT }, chained, structs - 1 - index, 'y');
  return block(client, 0, ...Array.from({ length: structs }, before));
}

/** A client that put as many at the start of a list without hearing anybody. */
function offline(clientID: number, insertions: number): Y.Doc {
  const ydoc = new Y.Doc();
  ydoc.clientID = clientID;
  for (let index = 0; index < insertions; index += 1) ydoc.getArray('list').insert(0, [`${clientID}:${index}`]);
  return ydoc;
}

function codeOf(run: () => unknown): string {
  try {
    run();
  } catch (error) {
    return (error as AppError).code;
  }
  return 'taken';
}

describe('[CB48] what would take too many steps', () => {
  test('24 KB that took seconds are refused, leave the document as it was, and every time anew', () => {
    const doc = emptyYdoc();
    acceptUpdate(doc, chain(2, 2_000), from('one'));
    const before = [hashOf(docOf(encodeYdoc(doc))), stateVector(doc)];
    for (let time = 0; time < 3; time += 1) {
      expect(codeOf(() => acceptUpdate(doc, bomb(1, 2_000, 2), from('two')))).toBe('YJS_UPDATE_CROWDED');
      expect([hashOf(docOf(encodeYdoc(doc))), stateVector(doc)]).toEqual(before);
      expect(doc.crowding).toMatchObject({ steps: 0, risk: 0, waiting: 0 });
    }
    acceptAll(doc, typing(3, 'others go on'), 'three');
    expect(materialise(doc).getText('text').toString()).toBe('others go on');
  });

  test('it comes in pieces, and all together may take what the document may', () => {
    const doc = emptyYdoc();
    acceptUpdate(doc, chain(2, 1_000), from('one'));
    const steps: number[] = [];
    for (let index = 0; index < 1_000; index += 1) {
      const piece = block(1, index, bytes({ byte: 3 | HAS_RIGHT }, 2, 999 - index, 'y'));
      if (codeOf(() => acceptUpdate(doc, piece, from('two'))) !== 'taken') break;
      materialise(doc);
      steps.push(doc.crowding.steps);
    }
    const items = doc.crowding.items;
    expect(steps.length).toBeGreaterThan(500);
    expect(steps.length).toBeLessThan(1_000);
    expect(steps.at(-1)).toBeLessThanOrEqual(YDOC_LIMITS.documentStepsMin + YDOC_LIMITS.stepsPerItem * items);
    compactYdoc(doc);
    releaseYdoc(doc);
    materialise(doc);
    expect(doc.crowding.steps).toBeLessThanOrEqual(YDOC_LIMITS.documentStepsMin + YDOC_LIMITS.stepsPerItem * items);
  });

  test('what was taken is counted when it is read from its bytes, too', () => {
    const doc = emptyYdoc();
    const limits = { ...YDOC_LIMITS, documentStepsMin: 50_000, stepsPerItem: 0 };
    acceptUpdate(doc, chain(2, 200), from('one'));
    acceptUpdate(doc, bomb(1, 200, 2), from('two'), limits);
    const again = decodeYdoc(encodeYdoc(doc), factsOf(doc));
    const more = Array.from({ length: 60 }, (_, index) => bytes({ byte: 3 | HAS_RIGHT }, 2, 199 - index, 'z'));
    expect(codeOf(() => acceptUpdate(again, block(3, 0, ...more), from('two'), limits))).toBe('YJS_UPDATE_CROWDED');
  });

  test.each([
    [5, 9],
    [9, 5],
  ])('two who were offline put 500 things each at one place, %i first: both are taken, and all have the same', (one, other) => {
    const doc = emptyYdoc();
    const [first, second] = [offline(one, 500), offline(other, 500)];
    for (const ydoc of [first, second]) acceptUpdate(doc, Y.encodeStateAsUpdate(ydoc), from(`${ydoc.clientID}`));
    for (const ydoc of [first, second]) Y.applyUpdate(ydoc, missingFor(doc, Y.encodeStateVector(ydoc)));
    expect(first.getArray('list').toArray()).toHaveLength(1_000);
    expect(second.getArray('list').toArray()).toEqual(first.getArray('list').toArray());
    expect(materialise(doc).getArray('list').toArray()).toEqual(first.getArray('list').toArray());
  });
});

/** Structs of six clients behind and before each other, in the right order or not, as no editor makes them. */
function nonsense(chance: Chance, clocks: Map<number, number>): Uint8Array {
  const anId = (): [number, number] | null => {
    const known = [...clocks].filter(([, clock]) => clock > 0);
    if (known.length === 0) return null;
    const [client, clock] = known[chance(known.length)]!;
    return [client, chance(clock)];
  };
  const client = 1 + chance(6);
  const from = clocks.get(client) ?? 0;
  let clock = from;
  const structs = Array.from({ length: 1 + chance(4) }, () => {
    const origin = clock > 0 && chance(2) === 0 ? [client, clock - 1] : chance(3) === 0 ? null : anId();
    const right = chance(2) === 0 ? null : anId();
    const info = 4 | (origin === null ? 0 : HAS_ORIGIN) | (right === null ? 0 : HAS_RIGHT);
    const text = 'abc'.slice(0, 1 + chance(3));
    clock += text.length;
    const place = origin === null && right === null ? [1, 'text'] : [...(origin ?? []), ...(right ?? [])];
    return bytes({ byte: info }, ...place, text);
  });
  clocks.set(client, clock);
  return block(client, from, ...structs);
}

/** Runs it, counting what Yjs notes of the items it meets: each in two sets. */
function stepsOfYjs(run: () => void): number {
  const { add } = Set.prototype;
  let noted = 0;
  const spy = vi.spyOn(Set.prototype, 'add').mockImplementation(function (this: Set<unknown>, value: unknown) {
    if (value instanceof Y.Item) noted += 1;
    return add.call(this, value);
  });
  run();
  spy.mockRestore();
  return noted / 2;
}

afterEach(() => void vi.restoreAllMocks());

describe('[CB49] steps that are counted', () => {
  const apply = (ydoc: Y.Doc, updates: readonly Uint8Array[]) => (): void => {
    for (const update of updates) Y.applyUpdate(ydoc, update);
  };
  const states = (ydoc: Y.Doc): unknown => [
    ydoc.getText('text').toDelta(),
    ydoc.getArray('list').toJSON(),
    Y.encodeStateAsUpdate(ydoc),
  ];

  /** The same updates counted and not, and once more, counted by what Yjs itself does. */
  function counts(updates: readonly Uint8Array[]): { told: number; taken: number } {
    const [plain, counted] = [new Y.Doc(), new Y.Doc()];
    const taken = stepsOfYjs(apply(plain, updates));
    const meter = new StepMeter();
    metered(meter, apply(counted, updates));
    expect(states(counted)).toEqual(states(plain));
    return { told: meter.steps, taken };
  }

  test.each(Array.from({ length: 40 }, (_, index) => 1 + index))('with seed %i: they are those that Yjs takes', (seed) => {
    const chance = chanceOf(seed);
    const clocks = new Map<number, number>();
    const { told, taken } = counts(Array.from({ length: 150 }, () => nonsense(chance, clocks)));
    expect(told).toBe(taken);
    expect(taken).toBeGreaterThan(1_000);
  });

  test.each(Array.from({ length: 10 }, (_, index) => 1 + index))('with seed %i: of people who edit side by side, too', (seed) => {
    const chance = chanceOf(seed);
    const people = [11, 5, 2 ** 32 - 7].map((clientID) => Object.assign(new Y.Doc(), { clientID }));
    for (let index = 0; index < 60; index += 1) {
      const ydoc = people[chance(people.length)]!;
      const text = ydoc.getText('text');
      if (chance(3) > 0) text.insert(Math.min(text.length, chance(4)), 'word', { n: chance(3) });
      else if (chance(2) === 0) ydoc.getArray('list').insert(0, [index]);
      else text.delete(0, Math.min(text.length, 2));
      if (chance(12) === 0) Y.applyUpdate(ydoc, Y.encodeStateAsUpdate(people[chance(people.length)]!));
    }
    const { told, taken } = counts(people.map((ydoc) => Y.encodeStateAsUpdate(ydoc)));
    expect(told).toBe(taken);
    expect(taken).toBeGreaterThan(10);
  });

  test('those over the values of a key to the first are among them', () => {
    const values = Array.from({ length: 50 }, (_, clock) => bytes({ byte: 8 | HAS_ORIGIN }, 1, clock, 1, 126));
    const first = bytes(8 | 0x20, 1, 'map', 'key', 1, 126);
    const meter = new StepMeter();
    const ydoc = new Y.Doc(); // in one transaction: between two Yjs joins what it replaced
    metered(meter, () => ydoc.transact(apply(ydoc, [block(1, 0, first, ...values), block(2, 0, first)])));
    expect(meter.steps).toBeGreaterThanOrEqual(50);
  });

  test('nothing is counted or refused when no document is made, nor after one was refused', () => {
    const ydoc = new Y.Doc();
    const meter = new StepMeter({ own: new Map([[1, 1_000]]), ownMax: 10, freedMax: 10 });
    Y.applyUpdate(ydoc, chain(2, 100));
    expect(() => metered(meter, apply(docOf(Y.encodeStateAsUpdate(ydoc)), [bomb(1, 100, 2)]))).toThrow(AppError);
    const { steps } = meter;
    expect(stepsOfYjs(apply(ydoc, [bomb(1, 100, 2)]))).toBe(9_900);
    expect(meter.steps).toBe(steps);
    expect(ydoc.getText('text').length + ydoc.store.clients.get(1)!.length).toBeGreaterThan(0);
  });

  test('what was stored is read whatever it takes, from the journal and from a snapshot, and others go on', () => {
    const replayed = emptyYdoc();
    for (const update of [chain(2, 1_200), bomb(1, 1_200, 2)]) replayUpdate(replayed, update);
    const stored = encodeYdoc(replayed);
    expect(replayed.crowding.steps).toBeGreaterThan(YDOC_LIMITS.documentStepsMin);
    const opened = decodeYdoc(stored);
    expect(readYdocJson(opened, { formatting: 'plain' })).toEqual(readYdocJson(replayed, { formatting: 'plain' }));
    const reader = docOf(stored);
    reader.on('update', (update: Uint8Array) => acceptUpdate(opened, update, from('three')));
    for (const place of [0, 1_200, 2_403]) reader.getText('text').insert(place, 'others go on');
    expect(hashOf(materialise(opened))).toBe(hashOf(reader));
    expect(codeOf(() => acceptUpdate(opened, bomb(7, 20, 2), from('two')))).toBe('YJS_UPDATE_CROWDED');
  });
});

describe('[CB50] what is kept untried', () => {
  /** Few steps, so that few structs make a difference. */
  const limits: YdocLimits = {
    ...YDOC_LIMITS,
    plainStepsMin: 4_000,
    plainStepsPerItem: 0,
    updateStepsMax: 1e9,
    documentStepsMin: 1e9,
  };

  /** Makes the `Y.Doc`, and tells how many steps that took, and how many structs came since the last one. */
  function stepsTaken(doc: Ydoc): number {
    const before = doc.crowding.steps;
    materialise(doc);
    return doc.crowding.steps - before;
  }

  test.each(Array.from({ length: 20 }, (_, index) => 1 + index))(
    'with seed %i: it takes no more than it may, and a step a struct',
    (seed) => {
      const chance = chanceOf(seed);
      const clocks = new Map<number, number>();
      const doc = emptyYdoc();
      materialise(doc);
      let untried = 0;
      for (let index = 0; index < 300; index += 1) {
        const tail = doc.tail.ends.length - doc.live!.drained;
        acceptUpdate(doc, nonsense(chance, clocks), from(null), limits);
        if (doc.live!.drained < doc.tail.ends.length) untried += 1;
        if (chance(15) > 0) continue;
        expect(stepsTaken(doc)).toBeLessThanOrEqual(limits.plainStepsMin + 4 * (tail + 1));
      }
      expect(untried).toBeGreaterThan(5);
    },
  );

  test('the next struct of one behind whose last somebody put much counts, and is harmless where nobody did', () => {
    const doc = emptyYdoc();
    const crowd = 40;
    for (let index = 0; index < crowd; index += 1) {
      const structs = index === 0 ? [string('x')] : [stringAfter(100 + index - 1, 0, 'x')];
      acceptUpdate(doc, block(100 + index, 0, ...structs), from(null), limits);
    }
    const last = 100 + crowd - 1;
    const heap = Array.from({ length: 200 }, (_, clock) =>
      bytes({ byte: 3 | HAS_ORIGIN }, clock === 0 ? last : 7, Math.max(0, clock - 1), 'x'),
    );
    acceptUpdate(doc, block(7, 0, ...heap), from(null), limits);
    stepsTaken(doc);
    for (let index = 0; index < crowd; index += 1) {
      acceptUpdate(doc, block(100 + index, 1, stringAfter(100 + index, 0, 'z')), from(null), limits);
    }
    const untried = doc.tail.ends.length - doc.live!.drained;
    expect(untried).toBeLessThan(crowd);
    expect(stepsTaken(doc)).toBeLessThanOrEqual(limits.plainStepsMin + untried);
  });

  test('who types into a large document tries nothing', () => {
    const doc = emptyYdoc();
    acceptUpdate(doc, Y.encodeStateAsUpdate(offline(5, 3_000)), from('one'));
    const stored = decodeYdoc(encodeYdoc(doc), factsOf(doc));
    acceptAll(stored, typing(9, 'x'.repeat(200)), 'two');
    expect(stored.live).toBeNull();
    for (const update of typing(9, 'x'.repeat(3_000)).slice(200)) acceptUpdate(stored, update, from('two'), limits);
    expect(stored.live).toBeNull();
  });

  test('an insertion here and there in a small one is only kept', () => {
    const doc = emptyYdoc();
    const ydoc = new Y.Doc();
    ydoc.on('update', (update: Uint8Array) => acceptUpdate(doc, update, from('one')));
    for (let index = 0; index < 150; index += 1)
      ydoc.getText('text').insert((7 * index) % (ydoc.getText('text').length + 1), 'x');
    expect(doc.live).toBeNull();
    expect(hashOf(materialise(doc))).toBe(hashOf(ydoc));
  });
});

describe('[CB51] what waits', () => {
  const limits: YdocLimits = { ...YDOC_LIMITS, waitingRiskMin: 20, freedStepsMax: 2_000, updateStepsMax: 2_000 };
  /** So many of client 1 before those of client 2; the first is missing, and all others wait for it. */
  const waitingBomb = (structs: number): Uint8Array => {
    const before = (_: unknown, index: number): Uint8Array => bytes({ byte: 3 | HAS_RIGHT }, 2, index, 'y');
    return block(1, 1, ...Array.from({ length: structs }, before));
  };
  const missing = block(1, 0, bytes(3, 1, 'text', 'm'));

  test('it is refused as early when it could take too many steps once it is set free', () => {
    const doc = emptyYdoc();
    acceptUpdate(doc, chain(2, 100), from('one'));
    const before = [hashOf(docOf(encodeYdoc(doc))), stateVector(doc)];
    expect(() => acceptUpdate(doc, waitingBomb(100), from('two'), limits)).toThrow(
      expect.objectContaining({ code: 'YJS_UPDATE_EARLY', message: expect.stringContaining('too much at places where others') }),
    );
    expect([hashOf(docOf(encodeYdoc(doc))), stateVector(doc)]).toEqual(before);
    expect(doc.pendingBytes).toBe(0);
    expect(acceptUpdate(doc, waitingBomb(5), from('two'), limits).changed).toBe(true);
    acceptUpdate(doc, missing, from('two'), limits);
    expect(doc.pendingBytes).toBe(0);
    expect(doc.crowding.waiting).toBe(0);
    expect(materialise(doc).getText('text').length).toBe(106);
  });

  test('it never makes the update fail that sets it free: it is dropped, and taken when it comes again in parts', () => {
    const doc = emptyYdoc();
    acceptUpdate(doc, chain(2, 100), from('one'));
    acceptUpdate(doc, waitingBomb(100), from('two'), YDOC_LIMITS);
    expect(doc.pendingBytes).toBeGreaterThan(0);
    expect(acceptUpdate(doc, missing, from('three'), limits).changed).toBe(true);
    expect(doc.pendingBytes).toBe(0);
    const reopened = decodeYdoc(encodeYdoc(doc), factsOf(doc));
    expect(materialise(reopened).getText('text').length).toBe(101);
    expect(acceptUpdate(reopened, waitingBomb(100), from('two'), YDOC_LIMITS).changed).toBe(true);
    expect(materialise(reopened).getText('text').length).toBe(201);
  });

  test('[CB68] who sent what was dropped is asked for it, as of the update that set it free', () => {
    const room = aRoom('one', newcomer('two', { kind: 'yjs' }), 'three');
    const change = (sender: string, update: Uint8Array) => say(room, { type: 'ydoc.change', from: id(sender), guid: '', update });
    const before = (_: unknown, index: number): Uint8Array => bytes({ byte: 3 | HAS_RIGHT }, 4, 999 - index, 'y');
    change('one', chain(4, 1_000));
    change('two', block(5, 1, ...Array.from({ length: 200 }, before)));
    change('one', chain(3, 3_000)); // what waits would now take more steps than when it came
    expect(room.ydocs.get('')!.pendingBytes).toBeGreaterThan(0);
    const asked = change('three', block(5, 0, bytes(3, 1, 'text', 'm'))).filter(
      (effect) => effect.type === 'send' && effect.message.type === 'ydoc.question',
    );
    expect(asked).toMatchObject([
      { to: { only: 'two' }, when: 'durable', message: { guid: '', vector: stateVector(room.ydocs.get('')!) } },
    ]);
    expect(room.ydocs.get('')!.pendingBytes).toBe(0);
    expect(messages(change('three', block(6, 0, string('more'))))).toMatchObject([{ type: 'ydoc.update' }]);
  });

  test('nor does an update of its own fault drop what others wait for', () => {
    const doc = emptyYdoc();
    acceptUpdate(doc, chain(2, 100), from('one'));
    acceptUpdate(doc, block(9, 5, string('waits')), from('nine'));
    const { pendingBytes } = doc;
    expect(codeOf(() => acceptUpdate(doc, bomb(1, 100, 2), from('two'), limits))).toBe('YJS_UPDATE_CROWDED');
    materialise(doc);
    expect(doc.pendingBytes).toBe(pendingBytes);
    acceptUpdate(doc, block(9, 0, string('first')), from('nine'));
    expect(materialise(doc).getText('text').toString()).toMatch(/waits/);
  });
});

describe('[CB52] whoever sends it', () => {
  const send = (name: string | null) => ({
    type: 'ydoc.change' as const,
    from: name === null ? null : id(name),
    guid: '',
    update: bomb(1, 1_500, 2),
  });
  const roomWithChain = () => {
    const room = aRoom(newcomer('ann'), newcomer('yan', { kind: 'yjs' }));
    say(room, { type: 'ydoc.change', from: id('ann'), guid: '', update: chain(2, 1_500) });
    return room;
  };

  test('over y-websocket is told why, stays, and nobody else hears of it', () => {
    const room = roomWithChain();
    const { version } = room;
    const effects = say(room, send('yan'));
    expect(effects).toHaveLength(1);
    expect(effects[0]).toMatchObject({ to: { only: 'yan' }, when: 'now' });
    expect(messages(effects)).toEqual([
      { type: 'ydoc.denied', guid: '', reason: expect.stringMatching(/too much at one place/) },
    ]);
    expect(room.version).toBe(version);
  });

  test('over the SDK stays, too, and its "saved" does not come', () => {
    expect(say(roomWithChain(), send('ann'))).toEqual([]);
  });

  test('again and again is closed for good, and who comes anew begins anew', () => {
    const room = roomWithChain();
    for (let time = 0; time < YDOC_LIMITS.costlyAnswersMax; time += 1) say(room, send('ann'));
    const refusal = expect.objectContaining({ code: 'YJS_UPDATE_CROWDED', close: 4000 });
    expect(() => say(room, send('ann'))).toThrow(refusal);
    expect(messages(say(room, send('yan')))).toHaveLength(1);
  });

  test('over REST is refused with the reason', () => {
    const refusal = { code: 'YJS_UPDATE_CROWDED', status: 422, message: expect.stringMatching(/too much at one place/) };
    expect(() => say(roomWithChain(), send(null))).toThrow(expect.objectContaining(refusal));
  });
});

test('[YD29] an edit in a text that was deleted meanwhile is gone with it, and makes no new reading of the document', () => {
  const doc = emptyYdoc();
  const [ann, bob] = [new Y.Doc(), new Y.Doc()];
  ann.getMap('map').set('text', new Y.Text());
  acceptUpdate(doc, Y.encodeStateAsUpdate(ann), from('ann'));
  Y.applyUpdate(bob, Y.encodeStateAsUpdate(ann));
  const vector = Y.encodeStateVector(bob);
  (bob.getMap('map').get('text') as Y.Text).insert(0, 'late');
  ann.getMap('map').delete('text');
  acceptUpdate(doc, Y.encodeStateAsUpdate(ann), from('ann'));
  const ydoc = materialise(doc);
  acceptUpdate(doc, Y.encodeStateAsUpdate(bob, vector), from('bob'));
  expect(materialise(doc)).toBe(ydoc);
  expect(Buffer.from(encodeYdoc(doc)).toString('latin1')).not.toContain('late');
});
