import { expect, test } from 'vitest';
import type { OutFrame } from '../../src/kernel/transport/send-budget.ts';
import { OP, type Op } from '../../src/protocol/storage-ops.ts';
import { HeldAnswers } from '../../src/room/held-answers.ts';
import { manualClock } from '../support/manual-clock.ts';

const MIB = 1024 * 1024;
const edit = (opId: string): Op => ({ type: OP.UPDATE_TEXT, id: '1:0', opId, baseVersion: 0, ops: [] });
const said = (data: string, answers?: string[]): OutFrame => ({
  data,
  droppable: false,
  ...(answers === undefined ? {} : { answers }),
});
const storage = (data = 'storage'): OutFrame => ({ data, droppable: false, restarts: true });

/** A client that took `roundMs` to speak, asked for Storage then, and hears what leaves for it. */
function aReader({ roundMs = 20 } = {}) {
  const clock = manualClock();
  const heard: string[] = [];
  const sendNow = (frames: readonly OutFrame[]): void => void heard.push(...frames.map(({ data }) => data as string));
  const held = new HeldAnswers({ clock, enteredAtMs: clock.monotonicMs() - roundMs, sendNow }, clock.monotonicMs());
  const send = (...frames: OutFrame[]): void => sendNow(held.take(frames));
  /** All that it has heard since it was asked last. */
  const news = (): string[] => heard.splice(0);
  return { clock, held, send, news };
}

test('[LT16] an answer to an edit waits until its client must have read the Storage before it: four round trips, and 100 ms', () => {
  const { clock, held, send, news } = aReader({ roundMs: 20 });
  held.told([edit('1:1')]);
  send(storage(), said('of others'));
  send(said('answer', ['1:1']));
  send(said('behind it'));
  expect(news()).toEqual(['storage', 'of others']);
  clock.advance(179);
  expect(news()).toEqual([]);
  clock.advance(1);
  expect(news()).toEqual(['answer', 'behind it']);
  send(said('later'));
  expect(news()).toEqual(['later']);
});

test('[LT16] a long Storage takes longer, by a millisecond for each thousand characters; of a round trip a quarter of a second counts', () => {
  const { clock, held, send, news } = aReader({ roundMs: 60_000 });
  held.told([edit('1:1')]);
  send(storage('x'.repeat(300_000)), said('answer', ['1:1']));
  news();
  clock.advance(100 + 4 * 250 + 299);
  expect(news()).toEqual([]);
  clock.advance(1);
  expect(news()).toEqual(['answer']);
});

test('[LT16] what answers no edit of a text does not wait, nor does an answer long after the Storage', () => {
  const { clock, held, send, news } = aReader();
  held.told([
    { type: OP.DELETE_CRDT, id: '1:0', opId: '1:1' },
    edit('1:2'),
    { type: OP.UPDATE_TEXT, id: '1:0', baseVersion: 0, ops: [] },
  ]);
  send(storage(), said('answer', ['1:1']));
  expect(news()).toEqual(['storage', 'answer']);
  clock.advance(1_000);
  send(said('answer', ['1:2']));
  expect(news()).toEqual(['answer']);
});

test('[LT17] an edit that came again is answered twice together, however late the second answer is', () => {
  const { clock, held, send, news } = aReader();
  held.told([edit('1:1')]);
  send(storage(), said('first', ['1:1']));
  held.told([edit('1:1')]);
  clock.advance(5_000);
  expect(news()).toEqual(['storage']);
  send(said('of others'), said('second', ['1:1']));
  expect(news()).toEqual(['first', 'of others', 'second']);
});

test('[LT17] Storage that was held is read when it has left, and answers behind it wait for that', () => {
  const { clock, held, send, news } = aReader({ roundMs: 0 });
  held.told([edit('1:1'), edit('1:2')]);
  send(storage(), said('first', ['1:1']), storage('once more'), said('second', ['1:2']));
  clock.advance(100);
  expect(news()).toEqual(['storage', 'first', 'once more']);
  clock.advance(99);
  expect(news()).toEqual([]);
  clock.advance(1);
  expect(news()).toEqual(['second']);
});

test('[LT18] nothing is held for more than ten seconds, and no more than 1 MiB', () => {
  const { clock, held, send, news } = aReader();
  held.told([edit('1:1'), edit('1:1'), edit('1:2')]);
  send(storage(), said('first', ['1:1']));
  clock.advance(9_999);
  expect(news()).toEqual(['storage']);
  clock.advance(1);
  expect(news()).toEqual(['first']); // though the second answer is still to come
  send(storage(), said('answer', ['1:2']), said('x'.repeat(MIB / 2)));
  expect(news()).toEqual(['storage']);
  send(said('y'.repeat(MIB / 2)));
  expect(news().map(([first]) => first)).toEqual(['a', 'x', 'y']);
});

test('[LT18] what is held of a session that is over is forgotten, and nothing of the next one waits for it', () => {
  const { clock, held, send, news } = aReader();
  held.told([edit('1:1'), edit('1:1'), edit('1:2')]);
  send(storage(), said('first', ['1:1']));
  held.forget();
  clock.advance(60_000);
  expect(news()).toEqual(['storage']);
  send(said('answer', ['1:2']), said('next'));
  expect(news()).toEqual(['answer', 'next']);
});
