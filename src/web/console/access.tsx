/** Who may do what in the room, what is noted about it, and the schema that bounds its Storage. */
import { roomPath } from './api.ts';
import { Problem, Waiting } from './parts.tsx';
import type { RoomRow } from './rooms.tsx';
import { useLoaded } from './session.tsx';

const SHOWN_MAX = 100;

export function Access({ roomId, room }: { roomId: string; room: RoomRow | null }) {
  if (room === null) return <p className="empty">Loading…</p>;
  return (
    <div className="two">
      <section className="card part" aria-label="Permissions">
        <h2>Permissions</h2>
        <dl>
          <dt>Everyone</dt>
          <dd>{room.defaultAccesses.join(' ') || 'nothing'}</dd>
        </dl>
        <List title="Groups" of={room.groupsAccesses} />
        <List title="Users" of={room.usersAccesses} />
        <p className="quiet">Access tokens carry permissions of their own; these are for ID tokens and the public key.</p>
      </section>
      <section className="card part" aria-label="Metadata">
        <h2>Metadata</h2>
        <List title="Metadata" of={room.metadata} />
        <dl>
          <dt>Organisation</dt>
          <dd>{room.organizationId}</dd>
        </dl>
      </section>
      <Schema roomId={roomId} />
    </div>
  );
}

function List({ title, of }: { title: string; of: Readonly<Record<string, string | readonly string[]>> }) {
  const entries = Object.entries(of);
  if (entries.length === 0) return <p className="quiet">{title}: none.</p>;
  return (
    <dl>
      {entries.slice(0, SHOWN_MAX).map(([key, value]) => (
        <div key={key} className="pair-row">
          <dt>{key}</dt>
          <dd>{typeof value === 'string' ? value : value.join(' ') || 'nothing'}</dd>
        </div>
      ))}
      {entries.length > SHOWN_MAX && <p className="quiet">and {entries.length - SHOWN_MAX} more</p>}
    </dl>
  );
}

function Schema({ roomId }: { roomId: string }) {
  const schema = useLoaded<{ name: string; version: number; body: string }>(roomPath(roomId, '/schema'));
  return (
    <section className="card part wide" aria-label="Schema">
      <h2>Schema</h2>
      {schema.value !== null && (
        <>
          <p>
            <code>
              {schema.value.name}@{schema.value.version}
            </code>
          </p>
          <pre className="schema">{schema.value.body}</pre>
        </>
      )}
      {schema.error?.code === 'SCHEMA_NOT_FOUND' && <p className="quiet">None: Storage may hold anything.</p>}
      {schema.error !== null && schema.error.code !== 'SCHEMA_NOT_FOUND' && <Problem error={schema.error} />}
      {schema.value === null && schema.error === null && <Waiting of={schema} />}
    </section>
  );
}
