/** Who is in the room now, and what each shows of themselves. */
import { useState } from 'react';
import { consolePath, type Refusal } from './api.ts';
import { JsonTree } from './json-tree.tsx';
import { Confirm, Problem, Waiting } from './parts.tsx';
import { useApi, useLoaded } from './session.tsx';

interface Connection {
  readonly connectionId: number;
  readonly kind: 'sdk' | 'yjs' | 'rest';
  readonly userId: string | null;
  readonly info: { readonly name?: string; readonly color?: string };
  readonly permissions: readonly string[];
  readonly presence: Readonly<Record<string, unknown>> | null;
}

interface Page {
  readonly isAwake: boolean;
  readonly version: number | null;
  readonly total: number;
  readonly nextAfter: number | null;
  readonly data: readonly Connection[];
}

const PER_PAGE = 20;
const EVERY_MS = 2_000;
const KINDS = { sdk: 'SDK', yjs: 'Yjs', rest: 'REST' } as const;

export function Connections({ roomId }: { roomId: string }) {
  const [trail, setTrail] = useState<readonly number[]>([]);
  const after = trail.at(-1);
  const search = new URLSearchParams({ limit: String(PER_PAGE), ...(after !== undefined && { after: String(after) }) });
  const page = useLoaded<Page>(consolePath(roomId, `/connections?${search}`), EVERY_MS);
  const [leaving, setLeaving] = useState<Connection | null>(null);
  if (page.value === null || (page.value.total === 0 && page.error !== null)) return <Waiting of={page} />;
  const { isAwake, version, total, nextAfter, data } = page.value;
  if (total === 0) {
    return (
      <p className="card empty">
        {isAwake ? 'Nobody is here; the room is still in memory.' : 'Nobody is here; the room sleeps.'}
      </p>
    );
  }
  return (
    <>
      {page.error !== null && <Problem error={page.error} />}
      <p className="facts">
        {total} {total === 1 ? 'connection' : 'connections'}, version {version}
      </p>
      <ul className="people-list">
        {data.map((connection) => (
          <Person key={connection.connectionId} connection={connection} onLeave={() => setLeaving(connection)} />
        ))}
      </ul>
      {(trail.length > 0 || nextAfter !== null) && (
        <div className="row pages">
          <button type="button" disabled={trail.length === 0} onClick={() => setTrail(trail.slice(0, -1))}>
            Back
          </button>
          <button type="button" disabled={nextAfter === null} onClick={() => setTrail([...trail, nextAfter!])}>
            More
          </button>
        </div>
      )}
      {leaving !== null && (
        <Disconnect
          roomId={roomId}
          connection={leaving}
          onEnd={() => {
            setLeaving(null);
            page.reload();
          }}
        />
      )}
    </>
  );
}

function Person({ connection, onLeave }: { connection: Connection; onLeave: () => void }) {
  const { connectionId, kind, userId, info, permissions, presence } = connection;
  const name = nameOf(connection);
  return (
    <li className="card person">
      <span className="dot" style={{ background: info.color ?? 'var(--line-strong)' }} />
      <div>
        <strong>{name}</strong> {userId !== null && userId !== name && <code>{userId}</code>}
        <p className="quiet">
          {KINDS[kind]}, connection {connectionId}, {permissions.join(' ')}
        </p>
        <div className="tree">
          <JsonTree name="presence" value={presence ?? {}} open={1} />
        </div>
      </div>
      <button type="button" onClick={onLeave} aria-label={`Disconnect ${name}`}>
        Disconnect
      </button>
    </li>
  );
}

function nameOf({ info, userId }: Connection): string {
  return info.name ?? userId ?? 'Anonymous';
}

function Disconnect({ roomId, connection, onEnd }: { roomId: string; connection: Connection; onEnd: () => void }) {
  const api = useApi();
  const [isBusy, setBusy] = useState(false);
  const [error, setError] = useState<Refusal | null>(null);
  const go = () => {
    setBusy(true);
    api
      .send('POST', consolePath(roomId, '/disconnect'), { connectionId: connection.connectionId })
      .then(onEnd, (problem: Refusal) => {
        setError(problem);
        setBusy(false);
      });
  };
  return (
    <Confirm
      title={`Disconnect ${nameOf(connection)}?`}
      action="Disconnect"
      isBusy={isBusy}
      error={error}
      onGo={go}
      onCancel={onEnd}
    >
      <p>The connection is closed. A client that may still enter comes back by itself; take its access away to keep it out.</p>
    </Confirm>
  );
}
