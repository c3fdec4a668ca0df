/** One note: dragged by its strip, by pointer or arrow keys; its text is a field of a LiveObject, the last writer's counts. */
import { shallow, useHistory, useMutation, useOthersMapped, useStorage, useUpdateMyPresence } from '@liveblocks/react/suspense';
import { type CSSProperties, type KeyboardEvent, type PointerEvent, type RefObject, useRef } from 'react';
import { CloseIcon } from '../shared/icons.tsx';
import { seen } from './others.ts';

export const TINTS = ['sun', 'sea', 'rose', 'leaf', 'dusk'];
const TEXT_LENGTH_MAX = 140;
/** Of the board, for each press of an arrow key. */
const STEP = 0.02;

const ARROWS: Readonly<Record<string, readonly [number, number]>> = {
  ArrowLeft: [-1, 0],
  ArrowRight: [1, 0],
  ArrowUp: [0, -1],
  ArrowDown: [0, 1],
};

interface NoteProps {
  readonly id: string;
  readonly board: RefObject<HTMLDivElement | null>;
}

export function NoteOnBoard({ id, board }: NoteProps) {
  const note = useStorage(({ notes }) => notes[id], shallow);
  const holders = useOthersMapped((other) => (other.presence.noteId === id ? seen(other.info) : null), shallow);
  const holder = holders.find(([, info]) => info !== null)?.[1] ?? null;
  const updatePresence = useUpdateMyPresence();
  const change = useMutation(({ storage }, fields: Partial<NoteFields>) => storage.get('notes').get(id)?.update(fields), [id]);
  const remove = useMutation(({ storage }) => storage.get('notes').delete(id), [id]);
  const drag = useDrag({ id, board, move: change });
  if (!isNote(note)) return null;

  const onKeyDown = (event: KeyboardEvent) => {
    const arrow = ARROWS[event.key];
    if (arrow === undefined) return;
    event.preventDefault();
    change({ x: bounded(note.x + arrow[0] * STEP), y: bounded(note.y + arrow[1] * STEP) });
  };
  const words = note.text === '' ? 'an empty note' : `the note “${note.text}”`;

  return (
    <article
      className={`note ${note.tint}`}
      data-id={id}
      style={{ '--x': note.x, '--y': note.y, '--holder': holder?.color } as CSSProperties}
    >
      <div className="note-strip">
        <button
          type="button"
          className="grip"
          aria-label={`Move ${words} with the arrow keys`}
          onKeyDown={onKeyDown}
          onPointerDown={(event) => drag.start(event, note)}
          onPointerMove={drag.move}
          onPointerUp={drag.end}
          onPointerCancel={drag.end}
        />
        <button type="button" className="ghost" aria-label={`Delete ${words}`} onClick={() => remove()}>
          <CloseIcon />
        </button>
      </div>
      <textarea
        value={note.text}
        maxLength={TEXT_LENGTH_MAX}
        placeholder="Write…"
        aria-label="Text of the note"
        onChange={(event) => change({ text: event.target.value })}
        onFocus={() => updatePresence({ noteId: id })}
        onBlur={() => updatePresence({ noteId: null })}
      />
      {holder !== null && (
        <span className="holder" style={{ background: holder.color }}>
          {holder.name}
        </span>
      )}
    </article>
  );
}

/** A drag is one step to undo, however many moves it has. */
function useDrag({ id, board, move }: NoteProps & { move: (to: { x: number; y: number }) => void }) {
  const history = useHistory();
  const updatePresence = useUpdateMyPresence();
  const from = useRef<{ x: number; y: number } | null>(null);
  const placeOf = (event: PointerEvent<HTMLElement>) => {
    const { width, height } = roomFor(event.currentTarget.closest<HTMLElement>('.note')!, board.current!);
    return { x: event.clientX / width, y: event.clientY / height };
  };
  return {
    start(event: PointerEvent<HTMLElement>, note: { x: number; y: number }) {
      event.currentTarget.setPointerCapture(event.pointerId);
      const { x, y } = placeOf(event);
      from.current = { x: x - note.x, y: y - note.y };
      history.pause();
      updatePresence({ noteId: id });
    },
    move(event: PointerEvent<HTMLElement>) {
      if (from.current === null) return;
      const { x, y } = placeOf(event);
      move({ x: bounded(x - from.current.x), y: bounded(y - from.current.y) });
    },
    end() {
      if (from.current === null) return;
      from.current = null;
      history.resume();
      updatePresence({ noteId: null });
    },
  };
}

/** Other programs may put something else on the board. */
function isNote(value: unknown): value is NoteFields {
  const { x, y, text } = (value ?? {}) as Partial<NoteFields>;
  return typeof x === 'number' && typeof y === 'number' && typeof text === 'string';
}

/** How far a note can go. */
function roomFor(note: HTMLElement, board: HTMLElement): { width: number; height: number } {
  return { width: board.clientWidth - note.offsetWidth, height: board.clientHeight - note.offsetHeight };
}

function bounded(part: number): number {
  return Math.min(1, Math.max(0, part));
}
