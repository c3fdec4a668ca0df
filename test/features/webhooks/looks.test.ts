/** What webhooks want is asked for by a timer, by whoever changed one, and by other workers. The database is one that answers when told. */
import { expect, test } from 'vitest';
import { asRoomId } from '../../../src/base/ids.ts';
import { silentLog } from '../../../src/base/observe.ts';
import { RoomEvents } from '../../../src/features/webhooks/watching/room-events.ts';
import type { Sql } from '../../../src/kernel/persistence/sql.ts';
import { manualClock } from '../../support/manual-clock.ts';

function eventsOver(db: object): RoomEvents {
  return new RoomEvents({
    db: db as Sql,
    clock: manualClock(),
    log: silentLog,
    projectId: 'p',
    workerName: 'w',
    nudge: () => undefined,
    tellOthers: async () => false,
  });
}

test('[WH12] of two looks the later one counts, also where it is answered first', async () => {
  const answers: ((rows: object[]) => void)[] = [];
  const query = () => new Promise((resolve) => answers.push(resolve));
  const events = eventsOver({ query });
  const [earlier, later] = [events.look(), events.look()];
  answers[1]!([{ id: 'wh', updatedAt: '2', events: ['storageUpdated'] }]);
  await later;
  answers[0]!([]);
  await earlier;
  expect(events.wantsChanges).toBe(true);
  const last = events.look();
  answers[2]!([]);
  await last;
  expect(events.wantsChanges).toBe(false);
  await events.close();
});

test.each([
  ['storage', 1],
  ['ydoc', 0],
] as const)(
  '[WC10] of what no webhook wants to hear nothing is noted, while one wants to hear of Storage: %s',
  async (document, writes) => {
    let noted = 0;
    const transaction = async () => {
      noted += 1;
      return [];
    };
    const events = eventsOver({ query: async () => [{ id: 'wh', updatedAt: '1', events: ['storageUpdated'] }], transaction });
    await events.look();
    const room = { id: asRoomId('room'), stream: 1, watchVisits: () => undefined, visits: () => [] };
    for (let n = 0; n < 10; n += 1) events.changed(room, document);
    await events.close(); // writes what waits
    expect(noted).toBe(writes);
  },
);
