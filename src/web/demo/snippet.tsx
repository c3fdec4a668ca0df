/** How this page talks to the server, to be copied: it adds a line to the list above. */
import { useRef, useState } from 'react';

const COPIED_MS = 1_600;

export function snippetFor({ origin, roomId }: { origin: string; roomId: string }): string {
  return `import { createClient, LiveObject } from '@liveblocks/client';

const body = JSON.stringify({ userId: 'curious-coder-1234', color: '#0e7490' });
const ask = { method: 'POST', headers: { 'content-type': 'application/json' }, body };
const client = createClient({
  baseUrl: '${origin}',
  authEndpoint: () => fetch('${origin}/demo/token', ask).then((answer) => answer.json()),
});
const { root } = await client.enterRoom(${JSON.stringify(roomId)}).room.getStorage();
root.get('list').push(new LiveObject({ id: crypto.randomUUID(), text: 'Hello from my own code', done: false }));`;
}

export function Snippet({ roomId }: { roomId: string }) {
  const [label, setLabel] = useState('Copy');
  const shown = useRef<HTMLElement>(null);
  const code = snippetFor({ origin: location.origin, roomId });
  const copy = async () => {
    setLabel((await copied(code)) ? 'Copied' : selected(shown.current!));
    setTimeout(() => setLabel('Copy'), COPIED_MS);
  };
  return (
    <section className="snippet" aria-label="Code">
      <div className="snippet-words">
        <h2>Ten lines of your own</h2>
        <p>
          This page uses the public <code>@liveblocks/client</code> package and points it at this server. Run these lines, in Node
          22 or in a page of your own, and watch the list above.
        </p>
        <p>
          Yjs editors connect with <code>y-websocket</code>, too; back ends use REST: see the <a href="/docs">API</a>.
        </p>
      </div>
      <div className="code">
        <button type="button" onClick={copy} aria-live="polite">
          {label}
        </button>
        <pre>
          <code ref={shown}>{code}</code>
        </pre>
      </div>
    </section>
  );
}

/** False where there is no clipboard, as on a page that came over plain HTTP from another machine, or where the browser refuses it. */
async function copied(text: string): Promise<boolean> {
  return navigator.clipboard === undefined
    ? false
    : navigator.clipboard.writeText(text).then(
        () => true,
        () => false,
      );
}

/** Selects what could not be copied, and says what is left to do. */
function selected(element: HTMLElement): string {
  getSelection()!.selectAllChildren(element);
  return 'Press Ctrl+C';
}
