/** A connection whose client names files: what its room hears, when, and what becomes of it when the database cannot be asked. */
import { describe, expect, test } from 'vitest';
import { AppError } from '../../src/base/errors.ts';
import { asRoomId, asSessionId } from '../../src/base/ids.ts';
import { silentLog } from '../../src/base/observe.ts';
import { Slices } from '../../src/base/slices.ts';
import type { OutFrame } from '../../src/kernel/transport/send-budget.ts';
import { FULL_ACCESS } from '../../src/protocol/permissions.ts';
import { Gateway } from '../../src/room/gateway.ts';
import { Intake } from '../../src/room/intake.ts';
import { recipientOf } from '../../src/room/recipient.ts';
import type { Command } from '../../src/room/shapes.ts';
import { manualClock } from '../support/manual-clock.ts';

const settled = (): Promise<void> => new Promise((resolve) => setImmediate(resolve));
const data = { id: `fl_${'a'.repeat(21)}`, name: 'a', size: 1, mimeType: 'x' };

/** A client in a room. */
async function aClient() {
  const clock = manualClock();
  const told: Command[] = [];
  const closes: number[] = [];
  const sent: string[] = [];
  const looks: { room: string; ids: readonly string[]; answer(missing: string[]): void; fail(error: Error): void }[] = [];
  let joined = 0;
  const join = (): Promise<void> => {
    joined += 1;
    return settled();
  };
  const gateway = new Gateway({
    clock,
    workerName: 'w',
    intake: new Intake({ clock, log: silentLog }),
    slices: new Slices(clock),
    log: silentLog,
    connectionsMax: 10,
    sheds: () => false,
    chance: () => 1,
    limits: {
      messages: { perSecond: 10_000, burst: 10_000 },
      sendBytesSoftMax: 1_000,
      sendBytesHardMax: 2_000,
      idleMs: 60_000,
    },
    elsewhere: { deliver: () => null, closeSessions: () => undefined, loseSessions: () => undefined },
    rooms: { ask: join, tell: (_, command) => told.push(command) > 0, locationOf: () => null, lineTo: () => null },
    findMissingFiles: (room, ids) => new Promise((answer, fail) => looks.push({ room, ids, answer, fail })),
    feeds: { take: () => undefined },
    admit: async () => ({
      roomId: asRoomId('room'),
      userId: 'ann',
      info: null,
      permissions: FULL_ACCESS,
      expiresAtMs: Number.POSITIVE_INFINITY,
    }),
  });
  const handler = gateway.accept(
    { path: '/v8', query: 'roomId=room&tok=t', headers: {} },
    {
      send: (frame) => sent.push(String(frame)) > 0,
      cork: (writes) => writes(),
      ping: () => undefined,
      close: (code) => void closes.push(code),
      bufferedBytes: () => 0,
    },
  );
  await settled();
  await settled();
  const say = (...messages: unknown[]): void => handler.message(JSON.stringify(messages));
  const opOf = (n: number) => ({ type: 11, opId: `1:${n}`, id: `1:${n}`, parentId: 'root', parentKey: `${n}`, data });
  const place = (n: number) => say({ type: 201, ops: [opOf(n)] });
  const ring = (event: number) => say({ type: 103, event });
  /** What the room has heard since, in short. */
  const heard = () =>
    told.splice(0).flatMap((command) => {
      if (command.type === 'event.broadcast') return [command.event];
      return command.type === 'storage.change' ? [`${command.ops[0]!.opId}${command.missingFiles?.join() ?? ''}`] : [];
    });
  /** The same of presences, which are taken out. */
  const presences = () => {
    const patches = told.filter((command) => command.type === 'presence.patch');
    for (const patch of patches) told.splice(told.indexOf(patch), 1);
    return patches.map(({ data }) => data);
  };
  return { gateway, handler, closes, looks, sent, say, opOf, place, ring, heard, presences, clock, joins: () => joined };
}

describe('a client that names files', () => {
  test('[LT17] hears no answer to an edit while that edit, come again, waits behind a file', async () => {
    const { gateway, handler, looks, sent, say, opOf, clock } = await aClient();
    const tell = (frame: Omit<OutFrame, 'droppable'>): void =>
      void gateway.deliver([recipientOf(asSessionId('w-1'))], [{ ...frame, droppable: false }]);
    const pass = (): void => {
      clock.advance(1_000);
      clock.turn();
    };
    const edit = { type: 10, id: '1:0', opId: '1:9', baseVersion: 0, ops: [] };
    say({ type: 201, ops: [edit] });
    tell({ data: 'storage', restarts: true });
    handler.ponged('1');
    say({ type: 201, ops: [opOf(0), edit] });
    tell({ data: 'first', answers: ['1:9'] });
    pass();
    expect([looks.length, sent]).toEqual([1, ['storage']]);
    looks[0]!.answer([]);
    await settled();
    pass();
    expect(sent).toEqual(['storage']);
    tell({ data: 'second', answers: ['1:9'] });
    expect(sent).toEqual(['storage', 'first', 'second']);
  });

  test('[FC8] is heard in order, once it is known which of them its room has', async () => {
    const { looks, place, ring, heard, handler } = await aClient();
    ring(1);
    place(0);
    ring(2);
    handler.message('ping'); // answered by the worker itself
    expect([heard(), looks.map(({ room, ids }) => [room, ids])]).toEqual([[1], [['room', [data.id]]]]);
    looks[0]!.answer([data.id]);
    await settled();
    expect(heard()).toEqual([`1:0${data.id}`, 2]);
    ring(3);
    expect(heard()).toEqual([3]);
  });

  test('[FC8] that has left by then is not heard any more', async () => {
    const { looks, place, ring, heard, handler } = await aClient();
    place(0);
    ring(1);
    handler.closed(1000, '');
    heard();
    looks[0]!.answer([]);
    await settled();
    expect(heard()).toEqual([]);
  });

  test('[FC9] whose room has moved meanwhile has its ops again asked for, not told: its client sends them anew', async () => {
    const { gateway, looks, place, ring, heard, closes } = await aClient();
    place(0);
    ring(1);
    gateway.loseSessions(['w-1' as never]);
    looks[0]!.answer([]);
    await settled();
    await settled();
    expect([heard(), closes]).toEqual([[1], []]); // events are not in doubt, and are told to the room as it is now
    place(0);
    expect(looks).toHaveLength(2);
    looks[1]!.answer([]);
    await settled();
    expect(heard()).toEqual(['1:0']);
  });

  test('[FC9] and nothing that was held overtakes what it said since: of that the room hears events alone, in order', async () => {
    const { gateway, looks, place, ring, say, presences, heard } = await aClient();
    place(0);
    say({ type: 100, data: { cursor: 1 } }, { type: 103, event: 1 });
    gateway.loseSessions([asSessionId('w-1')]);
    say({ type: 103, event: 2 }, { type: 100, data: { cursor: 2 } });
    say({ type: 100, data: { cursor: 3 } });
    await settled();
    await settled();
    place(0); // its client has read Storage
    ring(3);
    expect([presences(), heard(), looks.length]).toEqual([[{ cursor: 3 }], [1, 2], 2]);
    looks[0]!.answer([]);
    await settled();
    expect([presences(), heard()]).toEqual([[], []]);
    looks[1]!.answer([]);
    await settled();
    expect([presences(), heard()]).toEqual([[], ['1:0', 3]]);
  });

  test('[FC9] joins anew when the database cannot be asked, and is closed when that is our own fault', async () => {
    const { gateway, looks, place, heard, closes, clock } = await aClient();
    place(0);
    looks[0]!.fail(new AppError('DATABASE_UNAVAILABLE'));
    await settled();
    clock.advance(2_000);
    clock.turn();
    for (let turn = 0; turn < 3; turn += 1) await settled();
    expect([heard(), closes, gateway.size]).toEqual([[], [], 1]);
    place(0);
    looks[1]!.fail(new Error('a bug'));
    await settled();
    expect([heard(), closes]).toEqual([[], [1011]]);
  });

  test('[FC10] does so at a moment of chance within two seconds: its client, which has read Storage then, asks for the same again', async () => {
    const { looks, place, joins, clock } = await aClient();
    const looksIn = async (ms: number): Promise<void> => {
      clock.advance(ms);
      clock.turn();
      for (let turn = 0; turn < 3; turn += 1) await settled();
    };
    place(0);
    looks[0]!.fail(new AppError('DATABASE_UNAVAILABLE'));
    await settled();
    await looksIn(1_999);
    place(0);
    expect([joins(), looks.length]).toEqual([1, 1]);
    await looksIn(1);
    place(0);
    expect([joins(), looks.length]).toEqual([2, 2]);
  });

  test('[FC9] that sends more than may wait is asked to come back', async () => {
    const { place, ring, closes } = await aClient();
    place(0);
    for (let n = 0; n <= 1_000; n++) ring(n);
    expect(closes).toEqual([1013]);
  });
});
