/** Brings one room over. Done again it does no harm: the room is there, Storage is kept or equal, Yjs merges what it has already, and what was said is there. */
import { isDeepStrictEqual } from 'node:util';
import type { ImportPlan } from './plan.ts';
import { type RestClient, RestFailure } from './rest-client.ts';
import { pathOf, type RoomFacts, type Source, serverSource } from './source.ts';
import { bringTalk } from './talk-import.ts';

export interface RoomOutcome {
  /** Bytes of Storage as JSON and of the Yjs update. */
  readonly bytes: number;
  /** What the person who runs it should know. */
  readonly notes: readonly string[];
}

interface ImportOne {
  readonly source: Source;
  readonly target: RestClient;
  readonly plan: Pick<ImportPlan, 'existing' | 'afterwards'>;
}

/** @throws an Error with one sentence when the room is not there whole afterwards */
export async function importRoom(room: RoomFacts, { source, target, plan }: ImportOne): Promise<RoomOutcome> {
  const path = pathOf(room.id);
  await target.json('POST', '/v2/rooms?idempotent=true', room);
  const notes: string[] = [];
  const storage = await source.storage(room.id);
  if (storage !== null) notes.push(...(await bringStorage(storage, { path, target, existing: plan.existing })));
  const update = await source.ydoc(room.id);
  if (update !== null) await target.put(`${path}/ydoc`, update);
  const said = await bringTalk(room.id, { source, target });
  if (plan.afterwards === 'compare' && notes.length === 0) await compare(room.id, { source, target, update });
  return { bytes: (storage === null ? 0 : JSON.stringify(storage).length) + (update?.length ?? 0), notes: [...notes, ...said] };
}

const CONFLICT = 409;

async function bringStorage(
  storage: unknown,
  { path, target, existing }: { path: string; target: RestClient; existing: ImportPlan['existing'] },
): Promise<string[]> {
  try {
    await target.json('POST', `${path}/storage`, storage);
    return [];
  } catch (error) {
    if (!(error instanceof RestFailure) || error.status !== CONFLICT) throw error;
  }
  if (existing === 'keep') {
    const there = await target.json('GET', `${path}/storage`);
    return isDeepStrictEqual(unnamed(there), unnamed(storage))
      ? []
      : ['has other Storage already, which was kept; --replace takes it over'];
  }
  await target.json('DELETE', `${path}/storage`);
  await target.json('POST', `${path}/storage`, storage);
  return [];
}

/** Servers differ in the name of the field that says of which kind a node is. */
function unnamed(document: unknown): unknown {
  return JSON.parse(JSON.stringify(document).replaceAll('"liveblocksType":', '"serviceType":'));
}

interface Compare {
  readonly source: Source;
  readonly target: RestClient;
  readonly update: Uint8Array | null;
}

async function compare(roomId: string, { source, target, update }: Compare): Promise<void> {
  const there = serverSource(target, null);
  const [from, to] = await Promise.all([source.plainStorage(roomId), there.plainStorage(roomId)]);
  if (!isDeepStrictEqual(from ?? {}, to ?? {}))
    throw new Error('Storage differs after the import; did somebody change it meanwhile?');
  if (update === null) return;
  const { encodeStateVectorFromUpdate, diffUpdate } = await import('yjs');
  const copy = await there.ydoc(roomId);
  const missing = copy === null ? update : diffUpdate(update, encodeStateVectorFromUpdate(copy));
  // A diff that says nothing about structs still lists all deletions.
  if (missing[0] !== 0) throw new Error('the Yjs document is not whole after the import');
}
