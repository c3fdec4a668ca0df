/** One room: what is in it, a tab for each kind, and what can be done to it. */
import { useState } from 'react';
import { Access } from './access.tsx';
import { Actions } from './actions.tsx';
import { roomPath } from './api.ts';
import { Connections } from './connections.tsx';
import { StorageTab, YjsTab } from './documents.tsx';
import { Ago, Problem } from './parts.tsx';
import { hrefOf } from './place.ts';
import type { RoomRow } from './rooms.tsx';
import { useLoaded } from './session.tsx';
import { Threads } from './threads.tsx';
import { Versions } from './versions.tsx';

const TABS: readonly { id: string; name: string }[] = [
  { id: 'connections', name: 'Connections' },
  { id: 'storage', name: 'Storage' },
  { id: 'yjs', name: 'Yjs' },
  { id: 'threads', name: 'Threads' },
  { id: 'versions', name: 'Versions' },
  { id: 'access', name: 'Access & schema' },
];

export function RoomView({ roomId, tab }: { roomId: string; tab: string }) {
  const room = useLoaded<RoomRow>(roomPath(roomId));
  /** How many things were done here: each tab then asks anew. */
  const [turn, setTurn] = useState(0);
  return (
    <>
      <p className="crumbs">
        <a href="#/rooms">Rooms</a> /
      </p>
      <div className="head">
        <div>
          <h1 className="room-id">{roomId}</h1>
          {room.value !== null && (
            <p className="quiet">
              Created <Ago iso={room.value.createdAt} />, last entered <Ago iso={room.value.lastConnectionAt} />
            </p>
          )}
        </div>
        <Actions roomId={roomId} onDone={() => setTurn(turn + 1)} />
      </div>
      {room.error !== null ? (
        <Problem error={room.error} />
      ) : (
        <>
          <nav className="tabs" aria-label="Parts of the room">
            {TABS.map(({ id, name }) => (
              <a key={id} href={hrefOf({ view: 'room', roomId, tab: id })} aria-current={id === tab ? 'page' : undefined}>
                {name}
              </a>
            ))}
          </nav>
          <Tab key={turn} tab={tab} roomId={roomId} room={room.value} />
        </>
      )}
    </>
  );
}

function Tab({ tab, roomId, room }: { tab: string; roomId: string; room: RoomRow | null }) {
  if (tab === 'storage') return <StorageTab roomId={roomId} />;
  if (tab === 'yjs') return <YjsTab roomId={roomId} />;
  if (tab === 'threads') return <Threads roomId={roomId} />;
  if (tab === 'versions') return <Versions roomId={roomId} />;
  if (tab === 'access') return <Access roomId={roomId} room={room} />;
  return <Connections roomId={roomId} />;
}
