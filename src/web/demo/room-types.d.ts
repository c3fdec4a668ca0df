import type { LiveList, LiveMap, LiveObject, Lson } from '@liveblocks/client';

declare global {
  interface Liveblocks {
    Presence: {
      /** On the board, as parts of its width and height; null when it is elsewhere. */
      cursor?: { x: number; y: number } | null;
      /** The note that is being dragged or written on. */
      noteId?: string | null;
    };
    /** `list` holds LiveObject<ItemFields>; the compiler does not take that for a list of Lson. See `items.ts`. */
    Storage: { notes: LiveMap<string, LiveObject<NoteFields>>; list: LiveList<Lson> };
    UserMeta: { id: string; info: { name: string; color: string } };
  }

  /** `x` and `y` are parts of the way that a note can go, from 0 to 1, so that it is wholly on a phone's board and on a wide one. */
  type NoteFields = { x: number; y: number; text: string; tint: string };
  type ItemFields = { id: string; text: string; done: boolean };
}
