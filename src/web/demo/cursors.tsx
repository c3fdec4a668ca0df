/** The pointers of the others over the board. */
import { useOthersMapped } from '@liveblocks/react/suspense';
import { cursorIn, type Seen, seen } from './others.ts';

export function Cursors() {
  const others = useOthersMapped((other) => ({ cursor: cursorIn(other.presence), ...seen(other.info) }), sameCursor);
  return (
    <div className="cursors" aria-hidden="true">
      {others.map(
        ([connectionId, { cursor, name, color }]) =>
          cursor !== null && (
            <div
              key={connectionId}
              className="cursor"
              data-name={name}
              style={{ left: `${cursor.x * 100}%`, top: `${cursor.y * 100}%`, color }}
            >
              <svg viewBox="0 0 16 20" aria-hidden="true">
                <path
                  d="M1 1l13.5 9.2-6.3 1.1L5 17.6z"
                  fill="currentColor"
                  stroke="#fff"
                  strokeWidth="1.4"
                  strokeLinejoin="round"
                />
              </svg>
              <span style={{ background: color }}>{name}</span>
            </div>
          ),
      )}
    </div>
  );
}

type Shown = Seen & { readonly cursor: ReturnType<typeof cursorIn> };

function sameCursor(a: Shown, b: Shown): boolean {
  return a.cursor?.x === b.cursor?.x && a.cursor?.y === b.cursor?.y && a.name === b.name && a.color === b.color;
}
