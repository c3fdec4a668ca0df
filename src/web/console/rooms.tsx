/** Rooms, newest first, by the query language, page by page. */
import { type FormEvent, useState } from 'react';
import { Ago, Waiting } from './parts.tsx';
import { goTo, hrefOf } from './place.ts';
import { useLoaded } from './session.tsx';

export interface RoomRow {
  readonly id: string;
  readonly createdAt: string;
  readonly lastConnectionAt?: string | null;
  readonly organizationId: string;
  readonly metadata: Readonly<Record<string, string | readonly string[]>>;
  readonly defaultAccesses: readonly string[];
  readonly usersAccesses: Readonly<Record<string, readonly string[]>>;
  readonly groupsAccesses: Readonly<Record<string, readonly string[]>>;
}

interface Page {
  readonly nextCursor: string | null;
  readonly data: readonly RoomRow[];
}

const PER_PAGE = 20;

export function RoomsView({ query }: { query: string }) {
  const [text, setText] = useState(query);
  /** Cursors of the pages that led here; the first page has none. */
  const [trail, setTrail] = useState<readonly string[]>([]);
  const search = new URLSearchParams({ limit: String(PER_PAGE), ...(query !== '' && { query }) });
  const cursor = trail.at(-1);
  if (cursor !== undefined) search.set('startingAfter', cursor);
  const page = useLoaded<Page>(`/v2/rooms?${search}`);

  const onSubmit = (event: FormEvent) => {
    event.preventDefault();
    goTo({ view: 'rooms', query: asQuery(text.trim()) });
    page.reload();
  };
  return (
    <>
      <div className="head">
        <h1>Rooms</h1>
        <form className="search" onSubmit={onSubmit}>
          <input
            type="search"
            aria-label="Search rooms"
            placeholder={'roomId^"board:" AND metadata["stage"]:"draft"'}
            value={text}
            onChange={(event) => setText(event.target.value)}
            spellCheck={false}
          />
          <button type="submit" className="primary">
            Search
          </button>
        </form>
      </div>
      {(page.value === null || page.error !== null) && <Waiting of={page} />}
      {page.value !== null && <RoomTable rooms={page.value.data} isFiltered={query !== ''} />}
      <div className="row pages">
        <button type="button" disabled={trail.length === 0} onClick={() => setTrail(trail.slice(0, -1))}>
          Newer
        </button>
        <span className="quiet">Page {trail.length + 1}</span>
        <button
          type="button"
          disabled={(page.value?.nextCursor ?? null) === null}
          onClick={() => setTrail([...trail, page.value!.nextCursor!])}
        >
          Older
        </button>
      </div>
    </>
  );
}

/** What is no query is the beginning of an id. */
function asQuery(text: string): string {
  return text === '' || text.includes('"') ? text : `roomId^${JSON.stringify(text)}`;
}

function RoomTable({ rooms, isFiltered }: { rooms: readonly RoomRow[]; isFiltered: boolean }) {
  if (rooms.length === 0) {
    return (
      <p className="card empty">
        {isFiltered ? 'No room matches.' : 'There are no rooms yet. Open the demo, or make one with POST /v2/rooms.'}
      </p>
    );
  }
  return (
    <div className="card table-card">
      <table>
        <thead>
          <tr>
            <th>Room</th>
            <th>Who may enter</th>
            <th>Metadata</th>
            <th>Last entered</th>
            <th>Created</th>
          </tr>
        </thead>
        <tbody>
          {rooms.map((room) => (
            <tr key={room.id}>
              <td className="name">
                <a href={hrefOf({ view: 'room', roomId: room.id, tab: 'connections' })}>{room.id}</a>
                {room.organizationId !== 'default' && <span className="chip">{room.organizationId}</span>}
              </td>
              <td data-label="Who may enter">{accessOf(room)}</td>
              <td data-label="Metadata">
                <Metadata of={room.metadata} />
              </td>
              <td data-label="Last entered">
                <Ago iso={room.lastConnectionAt} />
              </td>
              <td data-label="Created">
                <Ago iso={room.createdAt} />
              </td>
            </tr>
          ))}
        </tbody>
      </table>
    </div>
  );
}

function accessOf({ defaultAccesses, usersAccesses, groupsAccesses }: RoomRow): string {
  const [users, groups] = [Object.keys(usersAccesses).length, Object.keys(groupsAccesses).length];
  if (defaultAccesses.length > 0) return `everyone, ${defaultAccesses.join(' ')}`;
  const named = [users > 0 && `${users} users`, groups > 0 && `${groups} groups`].filter((part) => part !== false);
  return named.length > 0 ? named.join(', ') : 'by token only';
}

const METADATA_SHOWN_MAX = 3;

function Metadata({ of }: { of: RoomRow['metadata'] }) {
  const entries = Object.entries(of);
  if (entries.length === 0) return <span className="quiet">–</span>;
  return (
    <span className="chips">
      {entries.slice(0, METADATA_SHOWN_MAX).map(([key, value]) => (
        <span key={key} className="chip">
          {key}: {String(value)}
        </span>
      ))}
      {entries.length > METADATA_SHOWN_MAX && <span className="quiet">+{entries.length - METADATA_SHOWN_MAX}</span>}
    </span>
  );
}
