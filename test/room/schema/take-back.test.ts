/** What SDK clients make of ops that a schema refused, when answers and edits cross. */
import { LiveList } from '@liveblocks/client';
import { afterEach, beforeEach, expect, test, vi } from 'vitest';
import { restoreSchema } from '../../../src/room/schema/decide.ts';
import { toJson } from '../../support/storage-documents.ts';
import { enter, FallingRoom, pass } from '../storage/falling-room.ts';
import { chanceOf } from '../storage/sdk-replicas.ts';

// Before the SDK is loaded: other builds throw when something is refused, out of a socket's handler.
vi.hoisted(() => {
  vi.stubEnv('NODE_ENV', 'production');
  for (const name of ['warn', 'error'] as const) vi.spyOn(console, name).mockImplementation(() => undefined);
});

/** After so long a client sends what it has done. */
const THROTTLE_MS = 17;

beforeEach(() => void vi.useFakeTimers());
afterEach(() => {
  vi.clearAllTimers();
  vi.useRealTimers();
});

test('[SC85] an item that came in place of another stays, when a replacement of that is refused a second time', async () => {
  const chance = chanceOf(1);
  const room = new FallingRoom();
  const ann = await enter(room, chance);
  ann.root.set('list', new LiveList(['old', 'second']));
  await pass(room, chance, 500);
  const bo = await enter(room, chance);
  const [annWire, boWire] = [...room.wires] as const;
  const body = 'type Storage { list: LiveList<string> }';
  restoreSchema(room.state, { id: 's@1', body, at: { stream: 1, epoch: 1, decision: 1 } });
  const said = () => vi.advanceTimersByTimeAsync(THROTTLE_MS);

  // Two edits that are refused are under way together; with the snapshot for the first Ann sends the second again.
  ann.root.get('list').push(3);
  await said();
  ann.root.get('list').set(0, 4);
  await said();
  while (annWire!.up.length > 0) annWire!.takeUp();
  await vi.advanceTimersByTimeAsync(0);
  while (annWire!.up.length === 0) annWire!.takeDown();
  bo.root.get('list').set(0, 'new');
  await said();
  boWire!.takeUp();
  await vi.advanceTimersByTimeAsync(0);
  await pass(room, chance, 2_000);

  expect(toJson(room.state.storage)).toEqual({ list: ['new', 'second'] });
  for (const { root, leave } of [ann, bo]) {
    expect(root.toJSON()).toEqual({ list: ['new', 'second'] });
    leave();
  }
});
