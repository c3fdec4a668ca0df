/**
 * Others as this page needs them. Any program with a token may be in the room and show what it likes, so nothing of it is taken for granted.
 */

export interface Seen {
  readonly name: string;
  readonly color: string;
}

const NAME_LENGTH_MAX = 40;

export function seen(info: unknown): Seen {
  const { name, color } = (info ?? {}) as { name?: unknown; color?: unknown };
  return {
    name: typeof name === 'string' && name !== '' ? name.slice(0, NAME_LENGTH_MAX) : 'Somebody',
    color: typeof color === 'string' && /^#[0-9a-f]{6}$/i.test(color) ? color : '#57534e',
  };
}

/** Null when it is nowhere on the board. */
export function cursorIn(presence: { readonly cursor?: unknown }): { x: number; y: number } | null {
  const { x, y } = (presence.cursor ?? {}) as { x?: unknown; y?: unknown };
  return typeof x === 'number' && typeof y === 'number' ? { x, y } : null;
}
