import { expect, test } from 'vitest';
import type { OutFrame } from '../../src/kernel/transport/send-budget.ts';
import { OP, type Op } from '../../src/protocol/storage-ops.ts';
import { HeldAnswers } from '../../src/room/held-answers.ts';
import { manualClock } from '../support/manual-clock.ts';

const KIB = 1024;
const edit = (opId: string): Op => ({ type: OP.UPDATE_TEXT, id: '1:0', opId, baseVersion: 0, ops: [] });
const said = (data: string, answers?: string[]): OutFrame => ({
  data,
  droppable: false,
  ...(answers === undefined ? {} : { answers }),
});
const storage = (data = 'storage'): OutFrame => ({ data, droppable: false, restarts: true });

/** A client that edits a text, hears what leaves for it, and answers pings when it is told. `storageMsAgo`: when it was sent Storage before. */
function aReader({ storageMsAgo }: { storageMsAgo?: number } = {}) {
  const clock = manualClock();
  const heard: string[] = [];
  const pings: string[] = [];
  const reader = {
    isBehind: false,
    ping: (data: string): void => void pings.push(data),
    sendNow: (frames: readonly OutFrame[]): void => {
      heard.push(...frames.map(({ data }) => data as string));
      held.left(frames);
    },
  };
  const last = storageMsAgo === undefined ? null : { leftAtMs: clock.monotonicMs() - storageMsAgo, characters: 7 };
  const held = new HeldAnswers({ reader, clock, last });
  const send = (...frames: OutFrame[]): void => reader.sendNow(held.take(frames));
  const pong = (): void => held.ponged(pings.at(-1)!);
  const pass = (ms: number): void => {
    clock.advance(ms);
    clock.turn();
  };
  /** All that it has heard since it was asked last. */
  const news = (): string[] => heard.splice(0);
  return { held, reader, send, pings, pong, pass, clock, news };
}

test('[LT16] an answer to an edit waits for 200 ms from when the Storage before it has arrived, and what follows waits behind it', () => {
  const { held, send, pong, pass, news } = aReader();
  held.told([edit('1:1')]);
  send(storage(), said('of others'));
  send(said('answer', ['1:1']));
  send(said('behind it'));
  pass(1_000);
  pong();
  pass(199);
  expect(news()).toEqual(['storage', 'of others']);
  pass(1);
  expect(news()).toEqual(['answer', 'behind it']);
  send(said('later'));
  expect(news()).toEqual(['later']);
});

test('[LT16] a long Storage takes longer, by a millisecond for each 20,000 characters', () => {
  const { held, send, pong, pass, news } = aReader();
  held.told([edit('1:1')]);
  send(storage('x'.repeat(200_000)), said('answer', ['1:1']));
  pong();
  news();
  pass(209);
  expect(news()).toEqual([]);
  pass(1);
  expect(news()).toEqual(['answer']);
});

test('[LT16] what answers no edit of a text does not wait, nor does an answer long after the Storage', () => {
  const { held, send, pong, pass, news } = aReader();
  held.told([
    { type: OP.DELETE_CRDT, id: '1:0', opId: '1:1' },
    edit('1:2'),
    { type: OP.UPDATE_TEXT, id: '1:0', baseVersion: 0, ops: [] },
  ]);
  send(storage(), said('answer', ['1:1']));
  expect(news()).toEqual(['storage', 'answer']);
  pong();
  pass(200);
  send(said('answer', ['1:2']));
  pass(0);
  expect(news()).toEqual(['answer']);
});

test('[LT16] of Storage that left twice the second counts, whatever is said of the first', () => {
  const { held, send, pings, pass, news } = aReader();
  held.told([edit('1:1')]);
  send(storage());
  send(storage('again'), said('answer', ['1:1']));
  held.ponged(pings[0]!);
  pass(500);
  expect(news()).toEqual(['storage', 'again']);
  held.ponged(pings[1]!);
  pass(200);
  expect(news()).toEqual(['answer']);
});

test('[LT17] an edit that came again is answered twice together, however late the second answer is', () => {
  const { held, send, pong, pass, news } = aReader();
  held.told([edit('1:1')]);
  send(storage(), said('first', ['1:1']));
  pong();
  held.told([edit('1:1')]);
  pass(5_000);
  expect(news()).toEqual(['storage']);
  send(said('of others'), said('second', ['1:1', '1:1']));
  expect(news()).toEqual(['first', 'of others', 'second']);
});

test('[LT17] what has come and is not heard yet may be the edit again: an answer waits for it, after a long turn too', () => {
  const { held, reader, send, pong, clock, pass, news } = aReader();
  held.told([edit('1:1')]);
  send(storage(), said('first', ['1:1']));
  pong();
  reader.isBehind = true;
  pass(2_000);
  reader.isBehind = false;
  clock.advance(1_000);
  send(said('of others')); // in the same turn
  held.told([edit('1:1')]); // it was there all the time
  clock.turn();
  expect(news()).toEqual(['storage']);
  send(said('second', ['1:1']));
  expect(news()).toEqual(['first', 'of others', 'second']);
});

test('[LT17] so does an answer that comes after that time, in the turn in which it was over', () => {
  const { held, send, pong, clock, news } = aReader();
  held.told([edit('1:1')]);
  send(storage());
  pong();
  clock.advance(300);
  send(said('first', ['1:1']));
  expect(news()).toEqual(['storage']);
  clock.advance(0);
  clock.turn();
  expect(news()).toEqual(['first']);
});

test('[LT16] the first edit asks with a ping whether the Storage of the last ten seconds has arrived, and of an older one it has', () => {
  const young = aReader({ storageMsAgo: 9_999 });
  young.held.told([edit('1:1')]);
  young.send(said('answer', ['1:1']));
  expect([young.news(), young.pings]).toEqual([[], ['1']]);
  const old = aReader({ storageMsAgo: 10_000 });
  old.held.told([edit('1:1')]);
  old.send(said('answer', ['1:1']));
  expect([old.news(), old.pings]).toEqual([['answer'], []]);
});

test('[LT17] Storage that was held is read when it has left and arrived, and answers behind it wait for that', () => {
  const { held, send, pong, pings, pass, news } = aReader();
  held.told([edit('1:1'), edit('1:2')]);
  send(storage(), said('first', ['1:1']), storage('once more'), said('second', ['1:2']));
  pong();
  pass(200);
  expect([news(), pings]).toEqual([
    ['storage', 'first', 'once more'],
    ['1', '2'],
  ]);
  pass(1_000);
  expect(news()).toEqual([]);
  pong();
  pass(200);
  expect(news()).toEqual(['second']);
});

test('[LT18] nothing is held for more than ten seconds from when it came', () => {
  const { held, send, pass, news } = aReader();
  held.told([edit('1:1'), edit('1:1'), edit('1:2'), edit('1:2')]);
  send(storage(), said('first', ['1:1']));
  pass(5_000);
  send(storage('again'), said('other', ['1:2']));
  pass(4_999);
  expect(news()).toEqual(['storage']);
  pass(1);
  expect(news()).toEqual(['first', 'again']);
  pass(4_999);
  expect(news()).toEqual([]);
  pass(1);
  expect(news()).toEqual(['other']);
});

test('[LT18] no answer is held with more than 64 KiB behind it; how long it is itself, or the first Storage behind it, does not matter', () => {
  const { held, send, news } = aReader();
  held.told([edit('1:1')]);
  send(storage(), said('a'.repeat(100 * KIB), ['1:1']), storage('s'.repeat(100 * KIB)), said('x'.repeat(60 * KIB)));
  expect(news()).toEqual(['storage']);
  send(said('y'.repeat(4 * KIB + 1)));
  expect(news().map(([first]) => first)).toEqual(['a', 's', 'x', 'y']);
});

test('[LT18] who asks for Storage again and again is not kept many of them', () => {
  const { held, send, news } = aReader();
  held.told([edit('1:1')]);
  send(storage(), said('answer', ['1:1']), storage('s'.repeat(100 * KIB)));
  expect(news()).toEqual(['storage']);
  send(storage('t'.repeat(100 * KIB)));
  expect(news().map(([first]) => first)).toEqual(['a', 's', 't']);
});

test('[LT18] a refusal is not held: it would take away what was typed since, which came again and was taken', () => {
  const { held, send, news } = aReader();
  held.told([edit('1:1'), edit('1:2')]);
  send(storage(), { data: 'refusal', droppable: false, refuses: ['1:1'] });
  held.told([edit('1:1')]);
  send(said('next'));
  expect(news()).toEqual(['storage', 'refusal', 'next']);
});

test('[LT18] an answer does not wait for one to an edit that was refused', () => {
  const { held, send, pong, pass, news } = aReader();
  held.told([edit('1:1'), edit('1:1')]);
  send(storage(), said('answer', ['1:1']), { data: 'refusal', droppable: false, refuses: ['1:1'] });
  pong();
  pass(200);
  expect(news()).toEqual(['storage', 'answer', 'refusal']);
});

test('[LT18] what is held of a session that is over is forgotten, and nothing of the next one waits for it', () => {
  const { held, send, pass, news } = aReader();
  held.told([edit('1:1'), edit('1:1'), edit('1:2')]);
  send(storage(), said('first', ['1:1']));
  held.forget();
  send(said('answer', ['1:1']), said('next'));
  expect(news()).toEqual(['storage', 'answer', 'next']);
  pass(60_000);
  expect(news()).toEqual([]);
});
