/** A board of notes in a LiveMap: each may be moved and written on by anybody, at the same time. */
import { LiveObject } from '@liveblocks/client';
import { shallow, useMutation, useStorage, useUpdateMyPresence } from '@liveblocks/react/suspense';
import { type PointerEvent, useRef } from 'react';
import { Cursors } from './cursors.tsx';
import { NoteOnBoard, TINTS } from './note.tsx';
import { randomId } from './random-id.ts';

/** A board that anybody may write on needs an end. */
const NOTES_MAX = 60;

export function Board() {
  const board = useRef<HTMLDivElement>(null);
  const updatePresence = useUpdateMyPresence();
  const ids = useStorage(({ notes }) => Object.keys(notes), shallow);
  const isFull = ids.length >= NOTES_MAX;

  const addNote = useMutation(({ storage }, { x, y }: { x: number; y: number }) => {
    const notes = storage.get('notes');
    if (notes.size >= NOTES_MAX) return;
    const tint = TINTS[notes.size % TINTS.length]!;
    notes.set(randomId(8), new LiveObject<NoteFields>({ x, y, tint, text: '' }));
  }, []);

  const placeOf = ({ clientX, clientY }: { clientX: number; clientY: number }) => {
    const { left, top, width, height } = board.current!.getBoundingClientRect();
    return { x: (clientX - left) / width, y: (clientY - top) / height };
  };
  const onPointerMove = (event: PointerEvent) => updatePresence({ cursor: placeOf(event) });

  return (
    <section className="card board-card" aria-label="Board">
      <div className="card-head">
        <h2>Board</h2>
        <p>Cursors are presence, notes are Storage.</p>
        <button type="button" className="primary" disabled={isFull} onClick={() => addNote(somewhere())}>
          {isFull ? 'Board is full' : 'Add note'}
        </button>
      </div>
      {/* biome-ignore lint/a11y/noStaticElementInteractions: the pointer is watched for others to see; what can be done here has buttons */}
      <div
        ref={board}
        className="board"
        onPointerMove={onPointerMove}
        onPointerLeave={() => updatePresence({ cursor: null })}
        onDoubleClick={(event) => event.target === event.currentTarget && addNote(within(placeOf(event)))}
      >
        {ids.length === 0 && <p className="empty">The board is empty. Double-click to put a note here.</p>}
        {ids.map((id) => (
          <NoteOnBoard key={id} id={id} board={board} />
        ))}
        <Cursors />
      </div>
    </section>
  );
}

function somewhere() {
  return { x: 0.1 + Math.random() * 0.8, y: 0.1 + Math.random() * 0.8 };
}

/** A note may go from edge to edge: what is near an edge of the board is at the end of its way. */
function within({ x, y }: { x: number; y: number }) {
  const stretched = (part: number, size: number) => Math.min(1, Math.max(0, (part - size / 2) / (1 - size)));
  return { x: stretched(x, 0.2), y: stretched(y, 0.25) };
}
