/** The presence that is kept of a session: what it comes to and how large it may be, as if made and measured anew for each patch. */
import fc from 'fast-check';
import { expect, test, vi } from 'vitest';
import { asSessionId } from '../../src/base/ids.ts';
import type { JsonObject } from '../../src/base/json.ts';
import { ALL_OTHERS } from '../../src/protocol/server-messages.ts';
import type { Command, RoomState } from '../../src/room/shapes.ts';
import { Told } from '../../src/room/told.ts';
import { aRoom, id, LIMITS, presence, say } from '../support/a-room.ts';

const kept = (room: RoomState) => room.sessions.get(id('ann'))!.presence;
const patch = (data: JsonObject, targetActor: number | null = null) =>
  ({ type: 'presence.patch', from: asSessionId('ann'), data, targetActor }) as const;

/** What the presence was to be when each message made a new one. */
function madeAnew(before: JsonObject | null, { data, targetActor }: ReturnType<typeof patch>): JsonObject {
  if (targetActor === ALL_OTHERS) return data;
  return targetActor === null ? { ...before, ...data } : { ...data, ...before };
}

const text = fc.oneof(
  fc.constantFrom('', '"', 'ä', '\u{1f600}', '\ud800', '\n'),
  fc.nat(400).map((length) => 'x'.repeat(length)),
);
const value = fc.oneof(text, fc.integer(), fc.constant(null), fc.constant([1, { a: 'ü' }]));
const key = fc.constantFrom('a', 'b', '', '7', 'toString', 'ä"', 'cursor');
const message = fc.record({
  data: fc.dictionary(key, value, { maxKeys: 4, noNullPrototype: true }),
  targetActor: fc.constantFrom(null, null, null, ALL_OTHERS, 2, 9),
});
const look = fc.constantFrom<Command>(
  { type: 'sessions.list', after: 0, limit: 9 },
  { type: 'presence.fetch', from: asSessionId('bob') },
);

test('[CB43] whatever is said, the presence and the refusals are those of a presence made and measured anew; what was handed out stays', () => {
  fc.assert(
    fc.property(
      fc.array(fc.oneof({ weight: 4, arbitrary: message }, { weight: 1, arbitrary: look }), { maxLength: 30 }),
      (said) => {
        const room = aRoom('ann', 'bob');
        let before: JsonObject | null = null;
        const given: { readonly effects: unknown; readonly as: string }[] = [];
        for (const one of said) {
          const command = 'type' in one ? one : patch(one.data, one.targetActor);
          const after: JsonObject | null = command.type === 'presence.patch' ? madeAnew(before, command) : before;
          if (after !== null && Buffer.byteLength(JSON.stringify(after)) > LIMITS.presenceBytesMax) {
            expect(() => say(room, command)).toThrow(expect.objectContaining({ code: 'PAYLOAD_TOO_LARGE' }));
          } else {
            const effects = say(room, command);
            given.push({ effects, as: JSON.stringify(effects) });
            before = after;
          }
          expect(kept(room)).toEqual(before);
        }
        for (const { effects, as } of given) expect(JSON.stringify(effects)).toBe(as);
      },
    ),
    { numRuns: 150 },
  );
});

test('[CB43] who fetches presences reads them as they are now, changed in place or not', () => {
  const room = aRoom('ann', 'bob');
  const fetched = () => say(room, { type: 'presence.fetch', from: id('bob') });
  for (const x of [1, 2, 3]) {
    presence(room, 'ann', { x });
    const texts = [`{"type":100,"actor":1,"data":{"x":${x}},"targetActor":-1}`];
    expect(fetched()).toMatchObject([{ message: { type: 'presences', texts } }]);
    expect(fetched()).toMatchObject([{ message: { type: 'presences', texts } }]);
  }
});

test('[CB44] a patch of a large presence is measured, not the presence', () => {
  const room = aRoom('ann', 'bob');
  const large = Object.fromEntries(Array.from({ length: 80 }, (_, n) => [`key${n}`, n]));
  presence(room, 'ann', large, ALL_OTHERS);
  presence(room, 'ann', { key0: 'first' }); // makes it the room's own
  const stringify = vi.spyOn(JSON, 'stringify');
  for (let n = 0; n < 100; n += 1) presence(room, 'ann', { key1: n });
  const measured = stringify.mock.results.map(({ value: json }) => (json as string).length);
  stringify.mockRestore();
  expect(Math.max(...measured)).toBeLessThan(10);
  expect(measured.length).toBeLessThanOrEqual(400);
  expect(kept(room)).toEqual({ ...large, key0: 'first', key1: 99 });
});

test('[CB45] what a client told of its presence is kept as if made anew each time, and what was said again stays as it was', () => {
  fc.assert(
    fc.property(fc.array(fc.oneof({ weight: 4, arbitrary: message }, { weight: 1, arbitrary: fc.constant('again') })), (said) => {
      const told = new Told();
      const again = () => told.again(asSessionId('new')).map((command) => (command as ReturnType<typeof patch>).data);
      let expected: JsonObject | null = null;
      const given: { readonly data: unknown; readonly as: string }[] = [];
      for (const one of said) {
        if (typeof one === 'string') for (const data of again()) given.push({ data, as: JSON.stringify(data) });
        else {
          given.push({ data: one.data, as: JSON.stringify(one.data) });
          told.note(patch(one.data, one.targetActor));
          expected = madeAnew(expected, patch(one.data, one.targetActor));
        }
      }
      expect(again()).toEqual(expected === null ? [] : [expected]);
      for (const { data, as } of given) expect(JSON.stringify(data)).toBe(as);
    }),
    { numRuns: 500 },
  );
});
