/** Versions of the room's history, newest first. */
import { useState } from 'react';
import { roomPath } from './api.ts';
import { Ago, Waiting } from './parts.tsx';
import { useLoaded } from './session.tsx';

interface Page {
  readonly nextCursor: string | null;
  readonly data: readonly {
    readonly id: string;
    readonly createdAt: string;
    readonly authors: readonly { readonly id: string }[];
  }[];
}

const PER_PAGE = 20;
const AUTHORS_SHOWN_MAX = 6;

export function Versions({ roomId }: { roomId: string }) {
  const [trail, setTrail] = useState<readonly string[]>([]);
  const cursor = trail.at(-1);
  const search = new URLSearchParams({ limit: String(PER_PAGE), ...(cursor !== undefined && { cursor }) });
  const page = useLoaded<Page>(roomPath(roomId, `/versions?${search}`));
  if (page.value === null) return <Waiting of={page} />;
  const { data, nextCursor } = page.value;
  if (data.length === 0 && trail.length === 0)
    return <p className="card empty">No versions yet. “Make a version” keeps Storage and Yjs as they are now.</p>;
  return (
    <>
      <ul className="version-list">
        {data.map(({ id, createdAt, authors }) => (
          <li key={id} className="card version-row">
            <code>{id}</code>
            <Ago iso={createdAt} />
            <span className="chips">
              {authors.slice(0, AUTHORS_SHOWN_MAX).map((author) => (
                <span key={author.id} className="chip">
                  {author.id}
                </span>
              ))}
              {authors.length > AUTHORS_SHOWN_MAX && <span className="quiet">+{authors.length - AUTHORS_SHOWN_MAX}</span>}
            </span>
          </li>
        ))}
      </ul>
      {(trail.length > 0 || nextCursor !== null) && (
        <div className="row pages">
          <button type="button" disabled={trail.length === 0} onClick={() => setTrail(trail.slice(0, -1))}>
            Newer
          </button>
          <button type="button" disabled={nextCursor === null} onClick={() => setTrail([...trail, nextCursor!])}>
            Older
          </button>
        </div>
      )}
    </>
  );
}
