/** What webhooks want is asked for by a timer, by whoever changed one, and by other workers. The database is one that answers when told. */
import { expect, test } from 'vitest';
import { silentLog } from '../../../src/base/observe.ts';
import { RoomEvents } from '../../../src/features/webhooks/watching/room-events.ts';
import type { Sql } from '../../../src/kernel/persistence/sql.ts';
import { manualClock } from '../../support/manual-clock.ts';

test('[WH12] of two looks the later one counts, also where it is answered first', async () => {
  const answers: ((rows: object[]) => void)[] = [];
  const query = () => new Promise((resolve) => answers.push(resolve));
  const events = new RoomEvents({
    db: { query } as unknown as Sql,
    clock: manualClock(),
    log: silentLog,
    projectId: 'p',
    workerName: 'w',
    nudge: () => undefined,
    tellOthers: async () => false,
  });
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
