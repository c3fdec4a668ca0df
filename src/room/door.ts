/** What features ask at the door of a room before they hand anything in. */
import { AppError } from '../base/errors.ts';
import { checkRoomId } from '../protocol/names.ts';
import type { RoomDoor } from './shapes.ts';

/** For `Route.mustTake` of routes that change a room. @throws AppError ROOM_OVERLOADED while it would refuse any change */
export function mustTakeChanges({ roomId }: { readonly roomId: string }, { rooms }: { readonly rooms: RoomDoor }): void {
  if (rooms.isFull(checkRoomId(roomId, 'roomId'))) throw new AppError('ROOM_OVERLOADED');
}
