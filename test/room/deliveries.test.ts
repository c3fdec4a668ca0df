import { expect, test } from 'vitest';
import type { AppError } from '../../src/base/errors.ts';
import { asSessionId } from '../../src/base/ids.ts';
import { silentLog } from '../../src/base/observe.ts';
import type { OutFrame } from '../../src/kernel/transport/send-budget.ts';
import { Deliveries } from '../../src/room/deliveries.ts';
import type { Hearer } from '../../src/room/recipient.ts';
import { manualClock } from '../support/manual-clock.ts';

const MANY = 100;
/** A send takes so long: sixteen of them more than a slice. */
const SEND_MS = 0.07;

interface Fake extends Hearer {
  readonly heard: string[];
  readonly refusals: string[];
}

function aRoomOf(count: number, { onSend = (_: number): void => undefined, sendMs = SEND_MS } = {}) {
  const clock = manualClock();
  const deliveries = new Deliveries({ clock, log: silentLog });
  const hearers = Array.from({ length: count }, (_, place): Fake => {
    const heard: string[] = [];
    const refusals: string[] = [];
    return {
      heard,
      refusals,
      owed: 0,
      carries: () => true,
      refuse: ({ code }: AppError) => void refusals.push(code),
      send(frames) {
        onSend(place);
        clock.advance(sendMs);
        heard.push(...frames.map(({ data }) => String(data)));
      },
    };
  });
  const recipients = hearers.map((hearer, place) => ({ id: asSessionId(`w-${place}`), hearer }));
  const tell = (data: string, to = recipients): void => deliveries.deliver(to, frames(data));
  const heardBy = (data: string): number => hearers.filter(({ heard }) => heard.includes(data)).length;
  return { clock, deliveries, hearers, recipients, tell, heardBy };
}

const frames = (data: string): OutFrame[] => [{ data, droppable: false }];

test('[FO15] what goes to many leaves in slices, each in a turn of its own; to few it leaves at once', () => {
  const few = aRoomOf(64);
  few.tell('a');
  expect(few.heardBy('a')).toBe(64);

  const { clock, tell, heardBy, hearers } = aRoomOf(MANY);
  tell('a');
  const heardAt = [heardBy('a')];
  clock.soon(() => heardAt.push(heardBy('a'))); // somebody else, between two slices
  clock.turn();
  expect(heardAt).toEqual([16, 32]);
  expect(hearers.map(({ heard }) => heard)).toEqual(Array(MANY).fill(['a']));
  expect(hearers.every(({ owed }) => owed === 0)).toBe(true);
});

test('[FO15] what came a tenth of a second ago leaves whole', () => {
  const { clock, tell, heardBy } = aRoomOf(MANY);
  tell('a');
  expect(heardBy('a')).toBe(16);
  clock.advance(100);
  const turns: number[] = [];
  const count = (): void => void turns.push(heardBy('a'));
  clock.soon(count); // behind the slice
  clock.turn();
  expect(turns).toEqual([MANY]);
});

test('[FO16] each socket hears in order: who is owed something hears the next behind it, others at once', () => {
  const { clock, tell, recipients, hearers } = aRoomOf(MANY);
  tell('a');
  tell('b', recipients.slice(0, 2)); // both have heard
  expect(hearers[0]!.heard).toEqual(['a', 'b']);
  tell('c', recipients.slice(98)); // neither has
  tell('d', [recipients[0]!, recipients[99]!]);
  tell('e');
  expect(hearers[98]!.heard).toEqual([]);
  expect(hearers[0]!.heard).toEqual(['a', 'b']);
  clock.turn();
  expect(hearers.map(({ heard }) => heard.join(''))).toEqual(
    hearers.map((_, place) => `a${place < 2 ? 'b' : ''}${place >= 98 ? 'c' : ''}${place === 0 || place === 99 ? 'd' : ''}e`),
  );
});

test('[FO16] who carries another session by then, or is not here, is passed over', () => {
  const { clock, tell, hearers, recipients } = aRoomOf(MANY);
  const absent = { id: asSessionId('w-absent'), hearer: null };
  tell('a', [...recipients, absent] as typeof recipients);
  hearers[50]!.carries = () => false;
  clock.turn();
  expect(hearers[50]).toMatchObject({ heard: [], owed: 0 });
  expect(hearers[99]!.heard).toEqual(['a']);
});

test('[FO17] all that is owed is sent before sockets are closed, each frame once, also when a send brings that about', () => {
  const calls: (() => void)[] = [];
  const { clock, deliveries, tell, hearers } = aRoomOf(MANY, { onSend: (place) => void (place === 5 && calls.pop()?.()) });
  calls.push(() => deliveries.finish());
  tell('a');
  tell('b');
  deliveries.finish();
  expect(hearers.map(({ heard }) => heard.join())).toEqual(Array(MANY).fill('a,b'));
  clock.turn();
  tell('c');
  clock.turn();
  expect(hearers.every(({ heard, owed }) => heard.join() === 'a,b,c' && owed === 0)).toBe(true);
});

test('[FO18] a send that fails costs its socket, and nobody else anything', () => {
  const fails = (place: number): void => {
    if (place === 7 || place === 70) throw new Error('broken');
  };
  const { clock, tell, hearers, recipients } = aRoomOf(MANY, { onSend: fails });
  tell('a', recipients.slice(0, 10));
  expect(hearers[7]!.refusals).toEqual(['INTERNAL_SERVER_ERROR']);
  tell('b');
  clock.turn();
  expect(hearers[70]!.refusals).toEqual(['INTERNAL_SERVER_ERROR']);
  expect(hearers.filter(({ heard }) => heard.includes('b'))).toHaveLength(98);
});
