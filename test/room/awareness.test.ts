import { expect, onTestFinished, test } from 'vitest';
import { Awareness, applyAwarenessUpdate, encodeAwarenessUpdate } from 'y-protocols/awareness';
import * as Y from 'yjs';
import type { ServerMessage } from '../../src/protocol/server-messages.ts';
import { type AwarenessState, decodeAwareness, encodeAwareness } from '../../src/protocol/yjs-frames.ts';
import type { Effect, RoomState } from '../../src/room/shapes.ts';
import { aRoom, id, join, LIMITS, messages, newcomer, presence, say } from '../support/a-room.ts';

const yjs = (name: string) => newcomer(name, { kind: 'yjs' });

function aware(room: RoomState, from: string, ...states: AwarenessState[]): Effect[] {
  return say(room, { type: 'awareness.change', from: id(from), update: encodeAwareness(states) }, 0);
}

/** The states as whoever hears them decodes them. */
function heardOf({ update, states }: Extract<ServerMessage, { type: 'awareness' }>): AwarenessState[] {
  return decodeAwareness(update ?? encodeAwareness(states));
}

/** The awareness states that the effects tell y-websocket clients. */
function states(effects: readonly Effect[]): AwarenessState[] {
  return effects.flatMap((effect) =>
    effect.type === 'send' && effect.message.type === 'awareness' ? heardOf(effect.message) : [],
  );
}

test("[AW1] a Yjs client's awareness reaches Yjs clients as it is, and SDK clients as presence", () => {
  const room = aRoom(yjs('ann'), 'bob');
  const effects = aware(room, 'ann', { clientId: 77, clock: 1, state: { user: { name: 'A' } } });
  expect(states(effects)).toEqual([{ clientId: 77, clock: 1, state: { user: { name: 'A' } } }]);
  expect(messages(effects)).toContainEqual({
    type: 'presence',
    actor: 1,
    data: { __yjs_clientid: 77, __yjs: { user: { name: 'A' } } },
    targetActor: -1,
  });
});

test('[AW14] a Yjs client that comes back at the clock at which it left is seen at once by those who heard that it left', () => {
  const [ann, bob] = [new Awareness(new Y.Doc()), new Awareness(new Y.Doc())];
  onTestFinished(() => {
    for (const one of [ann, bob]) one.destroy();
  });
  ann.setLocalState({ name: 'Ann' });
  const ofAnn = () => encodeAwarenessUpdate(ann, [ann.clientID]);
  const room = aRoom(yjs('ann'), yjs('bob'));
  const hear = (effects: readonly Effect[], who: Awareness, as: string): void => {
    for (const effect of effects) {
      if (effect.type !== 'send' || effect.message.type !== 'awareness') continue;
      const { to, message } = effect;
      const isHeard = 'only' in to ? to.only === as : 'allBut' in to && to.allBut !== as;
      if (isHeard) applyAwarenessUpdate(who, message.update ?? encodeAwareness(message.states), 'room');
    }
  };
  const says = (from: string) => say(room, { type: 'awareness.change', from: id(from), update: ofAnn() }, 0);
  const isSeen = () => bob.getStates().has(ann.clientID);
  hear(says('ann'), bob, 'bob');
  expect(isSeen()).toBe(true);
  hear(say(room, { type: 'session.leave', sessionId: id('ann') }), bob, 'bob');
  expect(isSeen()).toBe(false);
  join(room, yjs('ann again'));
  const back = says('ann again');
  let renewals = 0;
  ann.on('update', () => (renewals += 1)); // y-websocket sends its state then
  hear(back, bob, 'bob');
  hear(back, ann, 'ann again');
  expect(renewals).toBe(1);
  hear(says('ann again'), bob, 'bob');
  expect(isSeen()).toBe(true);
});

test("[AW2] the SDK provider's presence reaches Yjs clients as awareness, with rising clocks; other presence does not", () => {
  const room = aRoom('bob', yjs('ann'));
  expect(states(presence(room, 'bob', { __yjs_clientid: 5 }, -1))).toEqual([]);
  expect(states(presence(room, 'bob', { __yjs: { cursor: 1 } }))).toEqual([{ clientId: 5, clock: 1, state: { cursor: 1 } }]);
  expect(states(presence(room, 'bob', { __yjs: null }))).toEqual([{ clientId: 5, clock: 2, state: null }]);
  expect(states(presence(room, 'bob', { x: 1 }))).toEqual([]);
});

test('[AW3] echoes and old news are dropped: y-websocket clients repeat all they hear', () => {
  const room = aRoom(yjs('ann'), yjs('bob'));
  const state = { clientId: 7, clock: 3, state: {} };
  aware(room, 'ann', state);
  expect(aware(room, 'bob', state)).toEqual([]);
  expect(aware(room, 'ann', { ...state, clock: 2 })).toEqual([]);
  expect(aware(room, 'bob', { clientId: 99, clock: 1, state: null })).toEqual([]);
});

test('[AW4] a session speaks for one Yjs client only', () => {
  const room = aRoom(yjs('ann'), yjs('bob'));
  aware(room, 'ann', { clientId: 7, clock: 1, state: {} });
  aware(room, 'bob', { clientId: 8, clock: 1, state: {} });
  expect(aware(room, 'bob', { clientId: 7, clock: 9, state: { forged: true } })).toEqual([]);
});

test('[AW5] a Yjs client that came back on a new connection takes its state along; the old one leaving does not end it', () => {
  const room = aRoom(yjs('old'));
  aware(room, 'old', { clientId: 7, clock: 1, state: {} });
  join(room, yjs('new'));
  expect(states(aware(room, 'new', { clientId: 7, clock: 2, state: {} }))).toHaveLength(1);
  expect(states(say(room, { type: 'session.leave', sessionId: id('old') }))).toEqual([]);
});

test('[AW6] who leaves is forgotten, with a clock that beats the last', () => {
  const room = aRoom(yjs('ann'), 'bob');
  aware(room, 'ann', { clientId: 7, clock: 4, state: {} });
  expect(states(say(room, { type: 'session.leave', sessionId: id('ann') }))).toEqual([{ clientId: 7, clock: 5, state: null }]);
});

test('[AW7] a newcomer hears of all states, and SDK states are renewed before Yjs clients forget them', () => {
  const room = aRoom('bob', yjs('ann'));
  presence(room, 'bob', { __yjs_clientid: 5, __yjs: { c: 1 } }, -1);
  aware(room, 'ann', { clientId: 7, clock: 1, state: { c: 2 } });
  expect(states(join(room, yjs('cat')))).toEqual([
    { clientId: 5, clock: 1, state: { c: 1 } },
    { clientId: 7, clock: 1, state: { c: 2 } },
  ]);
  expect(states(say(room, { type: 'clock.tick' }, 14_999))).toEqual([]);
  expect(states(say(room, { type: 'clock.tick' }, 15_000))).toEqual([{ clientId: 5, clock: 2, state: { c: 1 } }]);
});

test('[AW7] a machine whose clock was set back renews SDK states, and goes on from there', () => {
  const room = aRoom('bob', yjs('ann'));
  say(room, { type: 'clock.tick' }, 100_000);
  presence(room, 'bob', { __yjs_clientid: 5, __yjs: { c: 1 } }, -1);
  const ticksAt = (nowMs: number) => states(say(room, { type: 'clock.tick' }, nowMs)).map(({ clock }) => clock);
  const [first] = ticksAt(100_000);
  expect(ticksAt(20_000)).toEqual([(first ?? 1) + 1]);
  expect(ticksAt(20_001)).toEqual([]);
  expect(ticksAt(35_000)).toEqual([(first ?? 1) + 2]);
});

test('[AW8] awareness that is no awareness is refused', () => {
  const room = aRoom(yjs('ann'));
  const broken = say.bind(null, room, { type: 'awareness.change', from: id('ann'), update: new Uint8Array([200, 200, 200]) });
  expect(broken).toThrow(expect.objectContaining({ code: 'FRAME_INVALID' }));
  const whole = encodeAwareness([{ clientId: 7, clock: 1, state: {} }]);
  const tailed = say.bind(null, room, {
    type: 'awareness.change',
    from: id('ann'),
    update: Buffer.concat([whole, Buffer.of(0)]),
  });
  expect(tailed).toThrow(expect.objectContaining({ code: 'FRAME_INVALID' })); // it goes on to others as it came
});

test('[AW9] a lone Yjs client hears its own state: y-websocket closes a connection on which it hears nothing for 30 s', () => {
  const room = aRoom(yjs('ann'));
  const effects = aware(room, 'ann', { clientId: 7, clock: 1, state: {} });
  expect(effects).toContainEqual(
    expect.objectContaining({ to: { allBut: null }, message: expect.objectContaining({ type: 'awareness' }) }),
  );
});

test('[AW13] that somebody is gone is no cursor, whoever says so: of who is not there nobody is told again', () => {
  const room = aRoom(yjs('ann'), yjs('bob'), 'cat');
  const tellsOf = (effects: readonly Effect[]) =>
    effects.flatMap((effect) => (effect.type === 'send' && effect.message.type === 'awareness' ? [effect.message.tellsOf] : []));
  expect(tellsOf(aware(room, 'ann', { clientId: 7, clock: 1, state: {} }))).toEqual(['state']);
  expect(tellsOf(aware(room, 'ann', { clientId: 7, clock: 2, state: null }))).toEqual(['departure']);
  expect(tellsOf(aware(room, 'bob', { clientId: 8, clock: 1, state: {} }))).toEqual(['state']);
  expect(tellsOf(say(room, { type: 'session.leave', sessionId: id('bob') }))).toEqual(['departure']);
  expect(tellsOf(presence(room, 'cat', { __yjs_clientid: 5, __yjs: {} }, -1))).toEqual(['state']);
  expect(tellsOf(presence(room, 'cat', { __yjs: null }))).toEqual(['departure']);
});

test('[AW10] an SDK client that goes on with another Yjs document takes its former cursor along', () => {
  const room = aRoom('bob', yjs('ann'));
  presence(room, 'bob', { __yjs_clientid: 5, __yjs: { c: 1 } }, -1);
  expect(states(presence(room, 'bob', { __yjs_clientid: 6 }))).toEqual([
    { clientId: 5, clock: 2, state: null },
    { clientId: 6, clock: 1, state: { c: 1 } },
  ]);
  say(room, { type: 'session.leave', sessionId: id('bob') });
  expect(room.awareness.size).toBe(0);
});

test('[AW11] an awareness state has the bounds of a presence: size, depth, no keys that reach a prototype; nothing of it is kept', () => {
  const room = aRoom(yjs('ann'));
  const sized = (chars: number) => () => aware(room, 'ann', { clientId: 7, clock: 1, state: { text: 'x'.repeat(chars) } });
  expect(sized(LIMITS.presenceBytesMax)).toThrow(expect.objectContaining({ code: 'PAYLOAD_TOO_LARGE' }));
  const deep = encodeAwareness([{ clientId: 7, clock: 1, state: {} }]);
  const raw = (state: string) => () => {
    const update = Buffer.concat([
      deep.subarray(0, 3),
      Buffer.from([(state.length & 127) | 128, state.length >> 7]),
      Buffer.from(state),
    ]);
    return say(room, { type: 'awareness.change', from: id('ann'), update });
  };
  expect(raw(`{"a":${'['.repeat(40)}${']'.repeat(40)}}${' '.repeat(100)}`)).toThrow(
    expect.objectContaining({ code: 'FRAME_INVALID' }),
  );
  expect(raw(`{"__proto__":1}${' '.repeat(130)}`)).toThrow(expect.objectContaining({ code: 'FRAME_INVALID' }));
  expect(room.awareness.size).toBe(0);
  expect(room.sessions.get(id('ann'))?.presence).toBeNull();
  expect(sized(LIMITS.presenceBytesMax - 100)).not.toThrow();
});

test('[AW12] a clock from which nobody could count on is passed over', () => {
  const room = aRoom(yjs('ann'));
  const at = (clock: number) => states(aware(room, 'ann', { clientId: 7, clock, state: {} }));
  expect(at(2 ** 32 + 1)).toEqual([]);
  expect(at(2 ** 32)).toHaveLength(1);
});

test('[CB60] a state that a presence carries is not looked at by patches that leave it as it is, whatever they say besides', () => {
  const room = aRoom('bob', yjs('ann'));
  let reads = 0;
  const state = {
    get cursor() {
      reads += 1;
      return 1;
    },
  };
  presence(room, 'bob', { __yjs_clientid: 5, __yjs: state });
  const before = reads;
  const told = [6, 5, 5, 6].map((clientId) => presence(room, 'bob', { __yjs_clientid: clientId }));
  expect(reads).toBe(before);
  expect(told.map((effects) => states(effects).filter((one) => one.state !== null).length)).toEqual([1, 1, 1, 1]);
});
