/**
 * Texts that SDK clients write while their connections break, the server is killed and the room changes its owner. Every character that is typed
 * exists once, so that it shows when one is missing, or there twice.
 */
import { LiveList, LiveText } from '@liveblocks/client';
import { afterEach, beforeEach, describe, expect, test, vi } from 'vitest';
import { toJson } from '../../support/storage-documents.ts';
import { enter, FallingRoom, happen, pass, type Writer } from './falling-room.ts';
import { type Chance, chanceOf } from './sdk-replicas.ts';

// Before the SDK is loaded: it keeps the functions it finds then, and says so when an answer is not what it predicted, as after a lost one.
vi.hoisted(() => {
  for (const name of ['warn', 'error'] as const) vi.spyOn(console, name).mockImplementation(() => undefined);
});

const STEPS = 60;
const SEEDS = Array.from({ length: 25 }, (_, seed) => seed + 1);
/** Those of a thousand in which something is lost when no answer is held (LT16). */
const CROSSING_SEEDS = [311, 379, 624, 770, 819, 948];
const FIRST_CHARACTER = 0x4e00;
/** A client has noticed by then that its pings are not answered. */
const REST_MS = 60_000;
/** A client that failed often waits for minutes before it tries again. */
const WAITS_MAX = 10;

beforeEach(() => void vi.useFakeTimers());
afterEach(() => {
  vi.clearAllTimers();
  vi.useRealTimers();
  vi.mocked(Math.random).mockRestore();
});

interface Typing {
  readonly chance: Chance;
  /** Characters that no other step types. */
  readonly word: () => string;
}

type Edit = (text: LiveText, list: LiveList<any>, typing: Typing) => void;

const typed: Edit = (text, _, { chance, word }) => text.insert(Math.floor(chance() * (text.length + 1)), word());

/** A list makes a room answer what is sent again with Storage once more, which crosses what is typed meanwhile. */
const typedOrPushed: Edit = (text, list, typing) => (typing.chance() < 0.5 ? typed(text, list, typing) : void list.push('item'));

const everything: Edit = (text, list, typing) => {
  const at = Math.floor(typing.chance() * text.length);
  const edits: (() => void)[] = [
    () => typed(text, list, typing),
    () => text.delete(at, 2),
    () => text.format(at, 3, { bold: typing.chance() < 0.5 || null }),
    () => list.push(typing.word()),
  ];
  edits[Math.floor(typing.chance() * edits.length)]!();
};

/** One of the things that break; a room that has another owner is left in peace until its clients are back. */
async function fall(room: FallingRoom, chance: Chance): Promise<void> {
  const wires = [...room.wires].filter(({ isCut }) => !isCut);
  const wire = wires[Math.floor(chance() * wires.length)];
  const kind = Math.floor(chance() * 6);
  if (kind === 0) room.kill();
  else if (kind === 1) {
    room.takeOver();
    await pass(room, chance, 2_000);
  } else {
    if (kind < 4 && wire !== undefined) wire.up.length = 0; // otherwise the server reads what was sent, sooner or later
    wire?.close(1006);
  }
}

/** Types and breaks things at random, then waits until nothing is under way; returns all that was typed. */
async function play(seed: number, edit: Edit): Promise<{ room: FallingRoom; writers: Writer[]; typed: string[] }> {
  const chance = chanceOf(seed);
  vi.spyOn(Math, 'random').mockImplementation(chanceOf(seed + 1_000));
  const room = new FallingRoom();
  const writers = [await enter(room, chance)];
  writers[0]!.root.update({ text: new LiveText(''), list: new LiveList([]) });
  await pass(room, chance, 500);
  while (writers.length < 3) writers.push(await enter(room, chance));

  let made = '';
  const word = (): string => {
    const letters = Array.from({ length: 1 + Math.floor(chance() * 3) }, (_, index) => FIRST_CHARACTER + made.length + index);
    made += String.fromCharCode(...letters);
    return String.fromCharCode(...letters);
  };
  for (let step = 0; step < STEPS; step += 1) {
    const { root } = writers[Math.floor(chance() * writers.length)]!;
    edit(root.get('text'), root.get('list'), { chance, word });
    if (chance() < 0.5) await vi.advanceTimersByTimeAsync(17);
    if (chance() < 0.6) await happen(room, chance, 'some');
    if (chance() < 0.1) await fall(room, chance);
    if (chance() < 0.06) await vi.advanceTimersByTimeAsync(1_000);
  }
  await pass(room, chance, REST_MS);
  const isAtRest = (): boolean => writers.every(({ room: { getStatus } }) => getStatus() === 'connected');
  for (let waits = 0; waits < WAITS_MAX && !isAtRest(); waits += 1) await pass(room, chance, REST_MS);
  return { room, writers, typed: made.split('') };
}

function textIn(room: FallingRoom): [string, object?][] {
  return toJson(room.state.storage).text as [string, object?][];
}

function charactersIn(room: FallingRoom): string[] {
  return textIn(room).flatMap(([run]) => run.split(''));
}

function expectAgreement(room: FallingRoom, writers: readonly Writer[]): void {
  for (const { room: seen, root, leave } of writers) {
    expect((root.get('text') as LiveText).toJSON()).toEqual(textIn(room));
    expect(seen.getStorageStatus()).toBe('synchronized');
    leave();
  }
}

describe('three SDK clients whose room falls again and again', () => {
  test.each(SEEDS)('[LT13] end with all that they typed, each character once (seed %i)', async (seed) => {
    const { room, writers, typed: all } = await play(seed, typed);
    expectAgreement(room, writers);
    expect(charactersIn(room).sort()).toEqual(all);
  });

  test.each([...SEEDS, ...CROSSING_SEEDS])('[LT13] lose nothing when they push onto a list as well (seed %i)', async (seed) => {
    const { room, writers, typed: all } = await play(seed, typedOrPushed);
    expectAgreement(room, writers);
    expect(charactersIn(room).sort()).toEqual(all);
  });

  test.each(SEEDS)(
    '[LT13] end with nothing twice when they delete and format as well, and push onto a list (seed %i)',
    async (seed) => {
      const { room, writers } = await play(seed, everything);
      expectAgreement(room, writers);
      const characters = charactersIn(room);
      expect(new Set(characters).size).toBe(characters.length);
    },
  );
});
