/** What is written in the room: Storage as a tree, the Yjs document as JSON. */
import { roomPath } from './api.ts';
import { JsonTree } from './json-tree.tsx';
import { Waiting } from './parts.tsx';
import { type Loaded, useLoaded } from './session.tsx';

export function StorageTab({ roomId }: { roomId: string }) {
  const document = useLoaded<unknown>(roomPath(roomId, '/storage'));
  return <Document of={document} name="root" empty="Storage is empty." />;
}

export function YjsTab({ roomId }: { roomId: string }) {
  const document = useLoaded<unknown>(roomPath(roomId, '/ydoc'));
  return <Document of={document} name="doc" empty="The Yjs document is empty." />;
}

function Document({ of, name, empty }: { of: Loaded<unknown>; name: string; empty: string }) {
  if (of.value === null || of.error !== null) return <Waiting of={of} />;
  if (isEmpty(of.value)) return <p className="card empty">{empty}</p>;
  return (
    <div className="card tree-card">
      <div className="row end">
        <button type="button" onClick={of.reload} disabled={of.isLoading}>
          {of.isLoading ? 'Reading…' : 'Read again'}
        </button>
      </div>
      <div className="tree">
        <JsonTree name={name} value={of.value} open={3} />
      </div>
    </div>
  );
}

function isEmpty(value: unknown): boolean {
  const content = (value as { data?: unknown }).data ?? value;
  return typeof content === 'object' && content !== null && Object.keys(content).length === 0;
}
