import { expect, test } from 'vitest';
import { MemoryDirectory } from '../../src/adapters/memory-directory.ts';
import { asIncarnation } from '../../src/base/ids.ts';
import { directoryContract } from './directory.contract.ts';

directoryContract('memory', async () => new MemoryDirectory());

test('a worker that is forgotten takes its own locations along, and no others', async () => {
  const directory = new MemoryDirectory();
  const [gone, here] = [asIncarnation('gone'), asIncarnation('here')];
  await directory.heartbeat({ incarnation: gone, address: '', draining: false, load: 0 });
  await directory.publish({ key: 'a', incarnation: gone, epoch: 1 });
  await directory.publish({ key: 'b', incarnation: here, epoch: 1 });
  directory.forget(gone);
  expect(await directory.heartbeat({ incarnation: here, address: '', draining: false, load: 0 })).toHaveLength(1);
  expect([await directory.locate('a'), (await directory.locate('b'))?.incarnation]).toEqual([null, here]);
});
