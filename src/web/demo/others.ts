/**
 * Others as this page needs them. Any program with a token may be in the room and show what it likes, so nothing of it is taken for granted.
 */

export interface Seen {
  readonly name: string;
  readonly color: string;
}

export function seen(info: Partial<Seen> | undefined): Seen {
  const name = typeof info?.name === 'string' && info.name !== '' ? info.name : 'Somebody';
  const color = /^#[0-9a-f]{6}$/i.test(String(info?.color)) ? String(info?.color) : '#57534e';
  return { name, color };
}

/** Null when it is nowhere on the board. */
export function cursorIn(presence: { readonly cursor?: unknown }): { x: number; y: number } | null {
  const { x, y } = (presence.cursor ?? {}) as { x?: unknown; y?: unknown };
  return typeof x === 'number' && typeof y === 'number' ? { x, y } : null;
}
