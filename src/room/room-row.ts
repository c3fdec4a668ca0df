/** The row of a room, for what hangs on it in the database: comments, versions, feeds. */
import { AppError } from '../base/errors.ts';
import type { RoomId, RoomPk } from '../base/ids.ts';
import { type Sql, sql } from '../kernel/persistence/sql.ts';

export interface RoomRef {
  readonly id: RoomId;
  readonly pk: RoomPk;
}

/** Null when there is no such room. */
export async function findRoomPk(db: Sql, roomId: RoomId): Promise<RoomPk | null> {
  const [room] = await db.query(sql<{ pk: RoomPk }>`select pk from rooms where id = ${roomId}`);
  return room?.pk ?? null;
}

/** @throws AppError ROOM_NOT_FOUND */
export async function findRoomRef(db: Sql, roomId: RoomId): Promise<RoomRef> {
  const pk = await findRoomPk(db, roomId);
  if (pk === null) throw new AppError('ROOM_NOT_FOUND', { roomId });
  return { pk, id: roomId };
}

/** The same, for a change: whoever deletes the room waits for its end. @throws AppError ROOM_NOT_FOUND */
export async function lockRoom(tx: Sql, roomId: RoomId): Promise<RoomRef> {
  const [room] = await tx.query(sql<RoomRef>`select pk, id from rooms where id = ${roomId} for key share`);
  if (room === undefined) throw new AppError('ROOM_NOT_FOUND', { roomId });
  return room;
}
