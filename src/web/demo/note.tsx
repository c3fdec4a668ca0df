/** One note: its place and its text, which is a field of a LiveObject, the last writer's counts. */
import { shallow, useMutation, useOthersMapped, useStorage, useUpdateMyPresence } from '@liveblocks/react/suspense';
import type { CSSProperties, RefObject } from 'react';
import { CloseIcon } from '../shared/icons.tsx';
import { Grip } from './grip.tsx';
import { seen } from './others.ts';

export const TINTS = ['sun', 'sea', 'rose', 'leaf', 'dusk'];
const TEXT_LENGTH_MAX = 140;

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
  if (!isNote(note)) return null;

  const words = note.text === '' ? 'an empty note' : `the note “${note.text}”`;

  return (
    <article
      className={`note ${note.tint}`}
      data-id={id}
      style={{ '--x': note.x, '--y': note.y, '--holder': holder?.color } as CSSProperties}
    >
      <div className="note-strip">
        <Grip id={id} board={board} note={note} words={words} move={change} />
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

/** Other programs may put something else on the board. */
function isNote(value: unknown): value is NoteFields {
  const { x, y, text } = (value ?? {}) as Partial<NoteFields>;
  return typeof x === 'number' && typeof y === 'number' && typeof text === 'string';
}
