/** What every directory must do. */
import { describe, expect, test } from 'vitest';
import { asIncarnation } from '../../src/base/ids.ts';
import type { Directory, WorkerEntry } from '../../src/kernel/cluster/directory.ts';

const one = asIncarnation('11111111-1111-4111-8111-111111111111');
const other = asIncarnation('22222222-2222-4222-8222-222222222222');
const entryOf = (incarnation: WorkerEntry['incarnation'], load = 0): WorkerEntry => ({
  incarnation,
  address: '127.0.0.1:1',
  draining: false,
  load,
});

export function directoryContract(name: string, open: () => Promise<Directory>): void {
  describe(`directory: ${name}`, () => {
    test('a heartbeat announces a worker and tells of all others, with their latest state', async () => {
      const directory = await open();
      expect(await directory.heartbeat(entryOf(one))).toEqual([entryOf(one)]);
      await directory.heartbeat(entryOf(other));
      const seen = await directory.heartbeat(entryOf(one, 5));
      expect(new Map(seen.map((entry) => [entry.incarnation, entry.load]))).toEqual(
        new Map([
          [one, 5],
          [other, 0],
        ]),
      );
    });

    test('a location is found until it is retracted; an unknown key is null', async () => {
      const directory = await open();
      const location = { key: 'a', incarnation: one, epoch: 3 };
      expect(await directory.locate('a')).toBeNull();
      await directory.publish(location);
      expect(await directory.locate('a')).toEqual(location);
      await directory.retract(location);
      expect(await directory.locate('a')).toBeNull();
    });

    test('a location of an older epoch never replaces a newer, whichever comes last', async () => {
      const directory = await open();
      await directory.publish({ key: 'a', incarnation: other, epoch: 4 });
      await directory.publish({ key: 'a', incarnation: one, epoch: 3 });
      expect(await directory.locate('a')).toEqual({ key: 'a', incarnation: other, epoch: 4 });
      await directory.publish({ key: 'a', incarnation: one, epoch: 5 });
      expect(await directory.locate('a')).toEqual({ key: 'a', incarnation: one, epoch: 5 });
    });

    test('who lost an actor cannot retract the location of its new owner', async () => {
      const directory = await open();
      const current = { key: 'a', incarnation: other, epoch: 4 };
      await directory.publish(current);
      await directory.retract({ key: 'a', incarnation: one, epoch: 3 });
      await directory.retract({ key: 'a', incarnation: other, epoch: 3 });
      await directory.retract({ key: 'a', incarnation: one, epoch: 4 });
      expect(await directory.locate('a')).toEqual(current);
    });
  });
}
