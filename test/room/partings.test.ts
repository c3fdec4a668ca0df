import { expect, test, vi } from 'vitest';
import { AppError } from '../../src/base/errors.ts';
import { type Log, silentLog } from '../../src/base/observe.ts';
import { Partings } from '../../src/room/partings.ts';
import type { RoomActorDeps } from '../../src/room/room-actor-deps.ts';
import { aRoom, id } from '../support/a-room.ts';

test('[YH4] a document that cannot be read is logged once, and who asked for it late is closed as who asks at once', () => {
  const closed: string[] = [];
  const log = { ...silentLog, error: vi.fn() };
  const sessions: Pick<RoomActorDeps['sessions'], 'closeSessions' | 'loseSessions'> = {
    closeSessions: (to, { code }) => void closed.push(`${to} ${code}`),
    loseSessions: (to) => void closed.push(`${to} joins anew`),
  };
  const partings = new Partings(
    { log: log as unknown as Log, sessions: sessions as RoomActorDeps['sessions'] },
    { shell: { room: aRoom('ann', 'bob'), guarded: (task) => task() }, fanout: { flush: () => undefined } },
  );
  const unreadable = { type: 'unreadable', guid: 'bad', askedBy: null, error: new Error('a bug'), when: 'now' } as const;
  partings.perform(unreadable);
  partings.perform({ ...unreadable, askedBy: id('ann') });
  partings.perform({ ...unreadable, askedBy: id('bob'), error: new AppError('ROOM_UNREADABLE') });
  partings.perform({ ...unreadable, guid: '' });
  expect(closed).toEqual(['ann INTERNAL_SERVER_ERROR', 'bob ROOM_UNREADABLE']);
  expect(log.error.mock.calls.map(([{ guid }, phrase]) => [guid, phrase])).toEqual([
    ['bad', 'document unreadable'],
    ['', 'document unreadable'],
  ]);
});
