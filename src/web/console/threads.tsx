/** Threads of the room, by the query language, newest first. */
import { type FormEvent, useState } from 'react';
import { roomPath } from './api.ts';
import { Ago, Waiting } from './parts.tsx';
import { useLoaded } from './session.tsx';

interface Comment {
  readonly id: string;
  readonly userId: string;
  readonly createdAt: string;
  readonly deletedAt?: string;
  readonly body?: { readonly content: readonly { readonly children: readonly { text?: string; id?: string; url?: string }[] }[] };
}

interface ThreadRow {
  readonly id: string;
  readonly resolved: boolean;
  readonly visibility?: string;
  readonly metadata: Readonly<Record<string, unknown>>;
  readonly comments: readonly Comment[];
}

const PER_PAGE = 20;
const COMMENTS_SHOWN_MAX = 5;

export function Threads({ roomId }: { roomId: string }) {
  const [query, setQuery] = useState('');
  const [text, setText] = useState('');
  const [shown, setShown] = useState(PER_PAGE);
  const threads = useLoaded<{ data: readonly ThreadRow[] }>(
    roomPath(roomId, `/threads${query === '' ? '' : `?${new URLSearchParams({ query })}`}`),
  );
  const onSubmit = (event: FormEvent) => {
    event.preventDefault();
    setQuery(text.trim());
    setShown(PER_PAGE);
  };
  return (
    <>
      <form className="search" onSubmit={onSubmit}>
        <input
          type="search"
          aria-label="Search threads"
          placeholder={'resolved:false AND metadata["priority"]:"high"'}
          value={text}
          onChange={(event) => setText(event.target.value)}
          spellCheck={false}
        />
        <button type="submit">Search</button>
      </form>
      {threads.value === null || threads.error !== null ? (
        <Waiting of={threads} />
      ) : (
        <ul className="thread-list">
          {threads.value.data.length === 0 && <li className="card empty">No threads{query === '' ? ' yet' : ' match'}.</li>}
          {threads.value.data.slice(0, shown).map((thread) => (
            <Thread key={thread.id} thread={thread} />
          ))}
        </ul>
      )}
      {(threads.value?.data.length ?? 0) > shown && (
        <button type="button" onClick={() => setShown(shown + PER_PAGE)}>
          {threads.value!.data.length - shown} more
        </button>
      )}
    </>
  );
}

function Thread({ thread: { id, resolved, visibility, metadata, comments } }: { thread: ThreadRow }) {
  const hidden = comments.length - COMMENTS_SHOWN_MAX;
  return (
    <li className="card thread-row">
      <p className="chips">
        <code>{id}</code>
        <span className={resolved ? 'chip' : 'chip open'}>{resolved ? 'resolved' : 'open'}</span>
        {visibility === 'private' && <span className="chip">private</span>}
        {Object.entries(metadata).map(([key, value]) => (
          <span key={key} className="chip">
            {key}: {String(value)}
          </span>
        ))}
      </p>
      {comments.slice(0, COMMENTS_SHOWN_MAX).map((comment) => (
        <p key={comment.id} className="comment-row">
          <strong>{comment.userId}</strong>{' '}
          <span className="quiet">
            <Ago iso={comment.createdAt} />
          </span>
          <br />
          {comment.body === undefined ? <em className="quiet">deleted</em> : textOf(comment.body)}
        </p>
      ))}
      {hidden > 0 && <p className="quiet">and {hidden} more comments</p>}
    </li>
  );
}

function textOf({ content }: NonNullable<Comment['body']>): string {
  const lines = content.map(({ children }) =>
    children.map(({ text, id, url }) => text ?? (id === undefined ? (url ?? '') : `@${id}`)).join(''),
  );
  return lines.join('\n');
}
