/**
 * Brings a room to life: claim, schema, snapshot, journal, in this order. The claim comes first, so that nothing the old owner writes later can be
 * missed; an error fails the load, because a room is never started from empty instead (design §4; reliability I2).
 */
import { AppError } from '../base/errors.ts';
import type { RoomId } from '../base/ids.ts';
import type { OnePerTurn } from '../base/one-per-turn.ts';
import { noTracer, type Span, type Tracer } from '../base/trace.ts';
import type { Loss } from '../kernel/actor/actor.ts';
import { type Claim, NUMBERS_PER_CLAIM, type Refusal } from '../kernel/cluster/ownership.ts';
import type { Quarantine } from '../kernel/cluster/quarantine.ts';
import type { JournalEntry } from '../kernel/persistence/journal.ts';
import { decodeRecords, type JournalRecord } from './journal-record.ts';
import { emptyRoom } from './room.ts';
import { RoomActor } from './room-actor.ts';
import type { RoomActorDeps } from './room-actor-deps.ts';
import { restoreSchema } from './schema/decide.ts';
import type { RoomSchema, RoomState } from './shapes.ts';
import { encodeSnapshot, passNumbersOfNodes, replayRecord, restoreSnapshot } from './snapshot.ts';
import { materialise } from './ydoc/live.ts';

/** Of reading a journal into a room, in one turn; one entry may take longer by itself. */
const SLICE_MS = 2;

export interface LoadRoomDeps extends RoomActorDeps {
  /** The room's number in the database, or null when there is no such room. */
  readonly findStream: (roomId: RoomId) => Promise<number | null>;
  /** The schema attached to the room of this number, if one is. */
  readonly findSchema: (stream: number) => Promise<RoomSchema | null>;
  readonly quarantine: Quarantine;
  /** Long journals, of all rooms that load on this worker: a slice of one in each turn. */
  readonly replays: OnePerTurn;
  readonly tracer?: Tracer;
}

/** @throws AppError ROOM_NOT_FOUND, ROOM_MOVED when a live worker owns it, ROOM_UNREADABLE, ROOM_QUARANTINED */
export function loadRoom(deps: LoadRoomDeps, roomId: RoomId, onLost: (loss: Loss) => void): Promise<RoomActor> {
  const { tracer = noTracer } = deps;
  return tracer.span('room.load', { facts: { 'atrium.room_id': roomId } }, (span) =>
    load(deps, { roomId, onLost, span, startedMs: deps.clock.monotonicMs() }),
  );
}

interface Load {
  readonly roomId: RoomId;
  readonly onLost: (loss: Loss) => void;
  readonly span: Span;
  readonly startedMs: number;
}

async function load(deps: LoadRoomDeps, asked: Load): Promise<RoomActor> {
  const stream = await deps.findStream(asked.roomId);
  if (stream === null) throw new AppError('ROOM_NOT_FOUND', { roomId: asked.roomId });
  const claim = await deps.ownership.claim(stream);
  if ('refused' in claim) throw refused(claim, asked.roomId);
  return deps.quarantine.load(claim, () => restore(deps, claim, asked));
}

function refused(refusal: Refusal, roomId: RoomId): AppError {
  switch (refusal.refused) {
    case 'gone':
      return new AppError('ROOM_NOT_FOUND', { roomId });
    case 'owned':
      return new AppError('ROOM_MOVED', { at: refusal.at });
    case 'quarantined':
      return new AppError('ROOM_QUARANTINED', { until: refusal.until });
  }
}

/** Snapshot and journal, under this claim. */
async function restore(
  deps: LoadRoomDeps,
  { stream, epoch, numbersFrom, crashes }: Claim,
  { roomId, onLost, span, startedMs }: Load,
): Promise<RoomActor> {
  const room = emptyRoom(roomId, { from: numbersFrom, to: numbersFrom + NUMBERS_PER_CLAIM });
  room.claim = { stream, epoch };
  // After the claim: who attached a schema under an earlier owner has written it down by now, or finds that it is too late.
  const schema = await deps.findSchema(stream);
  if (schema !== null) restoreSchema(room, schema);
  const snapshot = await deps.snapshots.load(stream);
  if (snapshot !== null) restoreSnapshot(room, snapshot);
  const entries = await deps.journal.readAfter(stream, room.version);
  const replayed = await replay(room, entries, deps);
  passNumbersOfNodes(room);
  if (crashes > 0) tryOut(room);
  const loadMs = deps.clock.monotonicMs() - startedMs;
  span.note({ 'atrium.epoch': epoch, 'atrium.version': room.version, 'atrium.journal_entries': entries.length });
  deps.metrics?.observe('atrium_room_load_seconds', loadMs / 1_000);
  deps.log.debug({ roomId, epoch, version: room.version, entries: entries.length, loadMs }, 'room loaded');
  const ground = { stream, epoch, snapshotVersion: snapshot?.version ?? 0, snapshotBytes: snapshot?.bytes.length ?? 0 };
  const actor = new RoomActor(deps, { room, ground, onLost });
  actor.woke({ replayed });
  return actor;
}

/**
 * Applies what was written after the snapshot, so much of it in a turn that whoever else is on this worker is heard meanwhile.
 * @throws AppError ROOM_MOVED when the lease has gone by the next turn, ROOM_UNREADABLE
 */
async function replay(
  room: RoomState,
  entries: readonly JournalEntry[],
  { clock, mayAnswer, replays }: Pick<LoadRoomDeps, 'clock' | 'mayAnswer' | 'replays'>,
): Promise<ReadonlySet<JournalRecord['kind']>> {
  const kinds = new Set<JournalRecord['kind']>();
  let turnEndsMs = clock.monotonicMs() + SLICE_MS;
  for (const { payload, version, count } of entries) {
    if (clock.monotonicMs() >= turnEndsMs) {
      await replays.wait();
      if (!mayAnswer()) throw new AppError('ROOM_MOVED');
      turnEndsMs = clock.monotonicMs() + SLICE_MS;
    }
    // A snapshot may have been taken between two changes that were then written as one entry: what it holds is not applied again.
    const known = Math.max(0, room.version - (version - count));
    for (const record of decodeRecords(payload).slice(known)) {
      replayRecord(room, record);
      kinds.add(record.kind);
    }
    if (room.version !== version)
      throw new AppError('ROOM_UNREADABLE', {
        reason: `its journal counts to ${version} where the records make ${room.version}`,
      });
  }
  return kinds;
}

/** What a room is first asked for, of one that may have ended its last owner: should it end this one, then before anybody was answered. */
export function tryOut(room: RoomState): void {
  try {
    for (const doc of room.ydocs.values()) materialise(doc);
    encodeSnapshot(room);
  } catch {
    // that it throws is nobody's end; who asks for it will hear
  }
}
