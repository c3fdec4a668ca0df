import fc from 'fast-check';
import { expect, test } from 'vitest';
import { asSessionId } from '../../src/base/ids.ts';
import { silentLog } from '../../src/base/observe.ts';
import { Slices } from '../../src/base/slices.ts';
import type { OutFrame } from '../../src/kernel/transport/send-budget.ts';
import { Deliveries } from '../../src/room/deliveries.ts';
import type { Hearer } from '../../src/room/recipient.ts';
import { manualClock } from '../support/manual-clock.ts';

const MANY = 100;
/** A send takes so long: eight of them more than a slice, a quarter of a millisecond. */
const SEND_MS = 0.04;

interface Fake extends Hearer {
  readonly heard: string[];
}

function aRoomOf(count: number, { onSend = (_: number): void => undefined, sendMs = SEND_MS } = {}) {
  const clock = manualClock();
  /** What leaves in later turns, one for each. */
  const soon: (() => void)[] = [];
  const slices = new Slices({ ...clock, soon: (task) => void soon.push(task) });
  const deliveries = new Deliveries({ clock, slices, log: silentLog });
  const hearers = Array.from({ length: count }, (_, place): Fake => {
    const heard: string[] = [];
    return {
      heard,
      owed: 0,
      carries: () => true,
      send(frames) {
        onSend(place);
        clock.advance(sendMs);
        heard.push(...frames.map(({ data }) => String(data)));
      },
    };
  });
  const recipients = hearers.map((hearer, place) => ({ id: asSessionId(`w-${place}`), hearer }));
  const tell = (data: string, to = recipients) => deliveries.deliver(to, frames(data));
  const heardBy = (data: string): number => hearers.filter(({ heard }) => heard.includes(data)).length;
  const turns = (): void => {
    while (soon.length > 0) soon.shift()!();
  };
  return { clock, slices, deliveries, hearers, recipients, soon, tell, turns, heardBy };
}

const frames = (data: string): OutFrame[] => [{ data, droppable: false }];

test('[FO15] what goes to many leaves in slices, each in a turn of its own; to few it leaves at once', () => {
  const few = aRoomOf(64);
  few.tell('a');
  expect(few.heardBy('a')).toBe(64);

  const { soon, turns, tell, heardBy, hearers } = aRoomOf(MANY);
  tell('a');
  const heardAt = [heardBy('a')];
  soon.push(() => heardAt.push(heardBy('a'))); // somebody else, between two slices
  turns();
  expect(heardAt).toEqual([0, 8]);
  expect(hearers.map(({ heard }) => heard)).toEqual(Array(MANY).fill(['a']));
  expect(hearers.every(({ owed }) => owed === 0)).toBe(true);
});

test('[FO15] so does what is long, and goes to few; one alone hears it at once', () => {
  const long = 'x'.repeat(200_000);
  const one = aRoomOf(1, { sendMs: 2 });
  one.tell(long);
  expect(one.heardBy(long)).toBe(1);

  const { soon, turns, tell, heardBy } = aRoomOf(5, { sendMs: 2 });
  tell(long);
  const heardAt = [heardBy(long)];
  soon.push(() => heardAt.push(heardBy(long)));
  turns();
  expect(heardAt).toEqual([0, 1]);
  expect(heardBy(long)).toBe(5);
});

test('[FO15] what else is long has its part of the same slice', () => {
  const { clock, soon, slices, tell, heardBy } = aRoomOf(MANY);
  slices.next(() => clock.advance(1)); // a long answer on its way
  tell('a');
  soon.shift()!();
  expect(heardBy('a')).toBe(0);
  soon.shift()!();
  expect(heardBy('a')).toBe(8);
});

test('[FO15] what came a tenth of a second ago leaves whole', () => {
  const { clock, soon, turns, tell, heardBy } = aRoomOf(MANY);
  tell('a');
  soon.shift()!();
  expect(heardBy('a')).toBe(8);
  clock.advance(100);
  let heard = 0;
  soon.push(() => {
    heard = heardBy('a'); // behind the slice
  });
  turns();
  expect(heard).toBe(MANY);
});

test('[FO15] no more than a thousand wait: with one more all leave', () => {
  const { tell, heardBy, recipients, hearers } = aRoomOf(MANY, { sendMs: 0.07 });
  const last = recipients.slice(99);
  tell('a');
  for (let told = 1; told < 1_000; told += 1) tell(`${told}`, last);
  expect(heardBy('a')).toBe(0);
  expect(tell('b', last)).toBeNull();
  expect(heardBy('a')).toBe(MANY);
  expect(hearers[99]!.heard).toHaveLength(1_001);
});

test('[FO16] each socket hears in order: who is owed something hears the next behind it, others at once', () => {
  const { soon, turns, tell, recipients, hearers } = aRoomOf(MANY);
  tell('a');
  soon.shift()!();
  tell('b', recipients.slice(0, 2)); // both have heard
  expect(hearers[0]!.heard).toEqual(['a', 'b']);
  tell('c', recipients.slice(98)); // neither has
  tell('d', [recipients[0]!, recipients[99]!]);
  tell('e');
  expect(hearers[98]!.heard).toEqual([]);
  expect(hearers[0]!.heard).toEqual(['a', 'b']);
  turns();
  expect(hearers.map(({ heard }) => heard.join(''))).toEqual(
    hearers.map((_, place) => `a${place < 2 ? 'b' : ''}${place >= 98 ? 'c' : ''}${place === 0 || place === 99 ? 'd' : ''}e`),
  );
});

test('[FO16] who carries another session by then, or is not here, is passed over', () => {
  const { turns, tell, hearers, recipients } = aRoomOf(MANY);
  const absent = { id: asSessionId('w-absent'), hearer: null };
  tell('a', [...recipients, absent] as typeof recipients);
  hearers[50]!.carries = () => false;
  turns();
  expect(hearers[50]).toMatchObject({ heard: [], owed: 0 });
  expect(hearers[99]!.heard).toEqual(['a']);
});

test('[FO17] all that is owed is sent before sockets are closed, each frame once, also when a send brings that about', () => {
  const calls: (() => void)[] = [];
  const { soon, turns, deliveries, tell, hearers } = aRoomOf(MANY, { onSend: (place) => void (place === 5 && calls.pop()?.()) });
  calls.push(() => deliveries.finish());
  tell('a');
  soon.shift()!();
  tell('b');
  deliveries.finish();
  expect(hearers.map(({ heard }) => heard.join())).toEqual(Array(MANY).fill('a,b'));
  turns();
  tell('c');
  turns();
  expect(hearers.every(({ heard, owed }) => heard.join() === 'a,b,c' && owed === 0)).toBe(true);
});

test('[FO18] a send that fails all the same costs nobody else anything', () => {
  const fails = (place: number): void => {
    if (place === 7 || place === 70) throw new Error('broken');
  };
  const { turns, tell, hearers } = aRoomOf(MANY, { onSend: fails });
  tell('a');
  turns();
  expect(hearers.filter(({ heard }) => heard.includes('a'))).toHaveLength(98);
  expect(hearers.every(({ owed }) => owed === 0)).toBe(true);
});

test('[FO15] rooms take turns: a small one does not wait for a large one', () => {
  const { turns, tell, recipients, hearers } = aRoomOf(280, { sendMs: 0.001 });
  const [large, small] = [recipients.slice(0, 200), recipients.slice(200)];
  const slow = hearers[10]!;
  const { send } = slow;
  slow.send = (frames) => {
    tell('c', small); // they are owed the one before it
    send(frames);
  };
  expect(tell('a', large)).toBe(hearers[199]);
  expect(tell('b', small)).toBe(hearers[279]);
  const heardLast: string[][] = [];
  hearers[279]!.send = ([frame]) => void heardLast.push([String(frame!.data), ...hearers[199]!.heard]);
  turns();
  expect(heardLast).toEqual([['b'], ['c', 'a']]); // `c` waits for all that is older
  expect(hearers.every(({ owed }) => owed === 0)).toBe(true);
});

const step = fc.oneof(
  { weight: 4, arbitrary: fc.record({ from: fc.nat(149), count: fc.integer({ min: 1, max: 150 }) }) },
  { weight: 3, arbitrary: fc.constant('turn' as const) },
  { weight: 1, arbitrary: fc.constant('finish' as const) },
);

test('[FO16] each hears all that is for it, once and in order, however turns and deliveries meet', () => {
  fc.assert(
    fc.property(fc.array(step, { maxLength: 30 }), (steps) => {
      const { deliveries, hearers, recipients, soon, turns } = aRoomOf(150);
      const meant = hearers.map((): string[] => []);
      for (const [number, one] of steps.entries()) {
        if (one === 'turn') soon.shift()?.();
        else if (one === 'finish') deliveries.finish();
        else {
          const to = recipients.slice(one.from, one.from + one.count);
          for (const { hearer } of to) meant[hearers.indexOf(hearer)]!.push(`${number}`);
          const last = deliveries.deliver(to, frames(`${number}`));
          expect(last === null || last.owed > 0).toBe(true);
        }
      }
      turns();
      expect(hearers.map(({ heard }) => heard)).toEqual(meant);
      expect(hearers.every(({ owed }) => owed === 0)).toBe(true);
    }),
  );
});
