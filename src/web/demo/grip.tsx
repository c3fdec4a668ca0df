/** The strip by which a note is moved, by pointer or arrow keys. */
import { useHistory, useUpdateMyPresence } from '@liveblocks/react/suspense';
import { type KeyboardEvent, type PointerEvent, type RefObject, useCallback, useEffect, useRef } from 'react';

/** Of the board, for each press of an arrow key. */
const STEP = 0.02;

const ARROWS: Readonly<Record<string, readonly [number, number]>> = {
  ArrowLeft: [-1, 0],
  ArrowRight: [1, 0],
  ArrowUp: [0, -1],
  ArrowDown: [0, 1],
};

interface Place {
  readonly x: number;
  readonly y: number;
}

interface GripProps {
  readonly id: string;
  readonly board: RefObject<HTMLDivElement | null>;
  readonly note: Place;
  /** What the note is called. */
  readonly words: string;
  move(to: Place): void;
}

export function Grip({ id, board, note, words, move }: GripProps) {
  const drag = useDrag({ id, board, move });
  const onKeyDown = (event: KeyboardEvent) => {
    const arrow = ARROWS[event.key];
    if (arrow === undefined) return;
    event.preventDefault();
    move({ x: bounded(note.x + arrow[0] * STEP), y: bounded(note.y + arrow[1] * STEP) });
  };
  return (
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
  );
}

/** A drag is one step to undo, however many moves it has. */
function useDrag({ id, board, move }: Pick<GripProps, 'id' | 'board' | 'move'>) {
  const history = useHistory();
  const updatePresence = useUpdateMyPresence();
  const from = useRef<Place | null>(null);
  const end = useCallback(() => {
    if (from.current === null) return;
    from.current = null;
    history.resume();
    updatePresence({ noteId: null });
  }, [history, updatePresence]);
  useEffect(() => end, [end]); // somebody may delete the note meanwhile: its grip then hears of no pointer

  const placeOf = (event: PointerEvent<HTMLElement>) => {
    const { width, height } = roomFor(event.currentTarget.closest<HTMLElement>('.note')!, board.current!);
    return { x: event.clientX / width, y: event.clientY / height };
  };
  return {
    start(event: PointerEvent<HTMLElement>, note: Place) {
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
    end,
  };
}

/** How far a note can go. */
function roomFor(note: HTMLElement, board: HTMLElement): { width: number; height: number } {
  return { width: board.clientWidth - note.offsetWidth, height: board.clientHeight - note.offsetHeight };
}

function bounded(part: number): number {
  return Math.min(1, Math.max(0, part));
}
