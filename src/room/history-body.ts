/**
 * The documents of a version of the history as bytes. A stored format with a version of its own: older ones stay readable, newer ones are
 * refused. Storage is in it as clients read it, so that reading it back costs nothing.
 */
import { concat, pack, unpack } from '../base/binary.ts';
import { AppError } from '../base/errors.ts';
import type { RoomState } from './shapes.ts';
import { LINES, piecesOf } from './storage/texts.ts';
import { encodeYdoc } from './ydoc/ydoc.ts';

const FORMAT = 1;

interface Stored {
  readonly format: number;
  readonly storage: Uint8Array;
  readonly ydocs: readonly (readonly [guid: string, update: Uint8Array])[];
}

export interface VersionBody {
  /** A line `[id, SerializedCrdt]` for each node, the root first (protocol 7.2). */
  readonly storage: Uint8Array;
  /** Whole documents as V1 updates, by guid; '' is the root document. */
  readonly ydocs: ReadonlyMap<string, Uint8Array>;
}

/** The documents of the room as they are now. */
export function encodeVersion(room: Pick<RoomState, 'storage' | 'ydocs'>): Uint8Array {
  const ydocs = [...room.ydocs].map(([guid, doc]) => [guid, encodeYdoc(doc)] as const);
  return pack({ format: FORMAT, storage: concat(piecesOf(room.storage, LINES)), ydocs } satisfies Stored);
}

/** @throws AppError ROOM_UNREADABLE when this build cannot read it. */
export function decodeVersion(bytes: Uint8Array): VersionBody {
  const { format, storage, ydocs } = unpack(bytes) as Stored;
  if (format > FORMAT)
    throw new AppError('ROOM_UNREADABLE', { reason: `its version has format ${format}, this build reads ${FORMAT}` });
  return { storage, ydocs: new Map(ydocs) };
}
