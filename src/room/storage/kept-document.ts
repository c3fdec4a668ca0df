/** The Storage document as bytes, kept until the next change, because whoever polls it asks for the same again and again. */
import type { RoomState } from '../shapes.ts';
import type { DocumentForm } from './document.ts';

export function keptDocument({ storageJson, version }: RoomState, form: DocumentForm): Uint8Array | null {
  return storageJson?.version === version && storageJson.form === nameOf(form) ? storageJson.bytes : null;
}

/** `bytes` are of the room as it is now. */
export function keepDocument(room: RoomState, form: DocumentForm, bytes: Uint8Array): void {
  room.storageJson = { version: room.version, form: nameOf(form), bytes };
}

export function nameOf({ format, typeKey }: DocumentForm): string {
  return `${format} ${typeKey}`;
}
