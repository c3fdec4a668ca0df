/** What every directory must do. */
import { describe, expect, test } from 'vitest';
import { asIncarnation, asWorkerAddress } from '../../src/base/ids.ts';
import { type Directory, type Location, WORKER_SILENT_MS, type WorkerEntry } from '../../src/kernel/cluster/directory.ts';

const one = asIncarnation('11111111-1111-4111-8111-111111111111');
const other = asIncarnation('22222222-2222-4222-8222-222222222222');
const entryOf = (incarnation: WorkerEntry['incarnation'], changed: Partial<WorkerEntry> = {}): WorkerEntry => ({
  incarnation,
  address: asWorkerAddress('127.0.0.1:1'),
  draining: false,
  load: 0,
  ...changed,
});
const locationOf = (incarnation: WorkerEntry['incarnation'], epoch: number, key = 'a'): Location => ({
  key,
  incarnation,
  address: asWorkerAddress('127.0.0.1:1'),
  epoch,
});
const byName = (entries: WorkerEntry[]): Map<string, WorkerEntry> => new Map(entries.map((entry) => [entry.incarnation, entry]));

export interface DirectoryUnderTest {
  /** Knows nothing yet; closed by whoever made it. */
  readonly directory: Directory;
  /** Lets a tenth of a second pass, by the clock that ages workers. */
  wait(): Promise<void>;
  nowMs(): number;
}

export function directoryContract(name: string, open: () => Promise<DirectoryUnderTest>): void {
  describe(`directory: ${name}`, () => {
    workersContract(open);
    locationsContract(open);
  });
}

function workersContract(open: () => Promise<DirectoryUnderTest>): void {
  test('[RD1] a heartbeat announces a worker and tells of all, with their latest state', async () => {
    const { directory } = await open();
    expect(await directory.heartbeat(entryOf(one))).toEqual([entryOf(one)]);
    await directory.heartbeat(entryOf(other, { address: asWorkerAddress('[::1]:65535') }));
    const seen = await directory.heartbeat(entryOf(one, { load: 5, draining: true }));
    expect(byName(seen)).toEqual(
      new Map([
        [one, entryOf(one, { load: 5, draining: true })],
        [other, entryOf(other, { address: asWorkerAddress('[::1]:65535') })],
      ]),
    );
  });

  test('[RD2] a worker is forgotten after three seconds of silence and not before; one that beats stays', async () => {
    const { directory, wait, nowMs } = await open();
    const silentFromMs = nowMs();
    await directory.heartbeat(entryOf(one));
    let seen = await directory.heartbeat(entryOf(other));
    expect(byName(seen).has(one)).toBe(true);
    for (let waits = 0; byName(seen).has(one) && waits < 100; waits += 1) {
      await wait();
      seen = await directory.heartbeat(entryOf(other));
    }
    expect(seen).toEqual([entryOf(other)]);
    expect(nowMs() - silentFromMs).toBeGreaterThan(WORKER_SILENT_MS);
  });

  test('[RD3] a worker that leaves is forgotten at once, and can come back; the others stay', async () => {
    const { directory } = await open();
    await directory.heartbeat(entryOf(one));
    await directory.heartbeat(entryOf(other));
    await directory.leave(one);
    await directory.leave(one);
    expect(await directory.heartbeat(entryOf(other))).toEqual([entryOf(other)]);
    expect(byName(await directory.heartbeat(entryOf(one))).size).toBe(2);
  });
}

function locationsContract(open: () => Promise<DirectoryUnderTest>): void {
  test('[RD4] a location is found until it is retracted; an unknown key is null', async () => {
    const { directory } = await open();
    expect(await directory.locate('a')).toBeNull();
    await directory.publish(locationOf(one, 3));
    await directory.publish(locationOf(one, 3));
    expect(await directory.locate('a')).toEqual(locationOf(one, 3));
    await directory.retract(locationOf(one, 3));
    expect(await directory.locate('a')).toBeNull();
    await directory.retract(locationOf(one, 3));
  });

  test('[RD5] a location of an older epoch never replaces a newer, whichever comes last', async () => {
    const { directory } = await open();
    // Where a comparison as text, as 32 bits or as a float would fail.
    const epochs = [0, 1, 9, 10, 99, 100, 2 ** 31, 2 ** 32 + 1, Number.MAX_SAFE_INTEGER - 1, Number.MAX_SAFE_INTEGER];
    for (const [index, epoch] of epochs.entries()) {
      await directory.publish(locationOf(one, epoch));
      await directory.publish(locationOf(other, epoch));
      await directory.publish(locationOf(other, epochs[index - 1] ?? 0));
      expect(await directory.locate('a')).toEqual(locationOf(one, epoch));
    }
  });

  test('[RD6] who lost an actor cannot retract the location of its new owner', async () => {
    const { directory } = await open();
    const current = locationOf(other, 4);
    await directory.publish(current);
    for (const older of [locationOf(one, 3), locationOf(other, 3), locationOf(one, 4), locationOf(other, 40)]) {
      await directory.retract(older);
    }
    expect(await directory.locate('a')).toEqual(current);
  });

  test('[RD7] a key is any string: none is taken for another', async () => {
    const { directory } = await open();
    const keys = [
      '{',
      '7b',
      '',
      'a',
      '{a}',
      'a}',
      '}{',
      '%7da',
      'a%7d',
      '}a',
      'ünï:cödé 🎉',
      '\ud83c',
      '\udf89',
      '\n\0',
      ' a',
      'x'.repeat(128),
    ];
    for (const [epoch, key] of keys.entries()) await directory.publish(locationOf(one, epoch, key));
    const found = await Promise.all(keys.map((key) => directory.locate(key)));
    expect(found).toEqual(keys.map((key, epoch) => locationOf(one, epoch, key)));
  });
}
