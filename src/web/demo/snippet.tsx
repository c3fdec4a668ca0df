/** How this page talks to the server, to be copied: it adds a line to the list above. */
import { useState } from 'react';

const COPIED_MS = 1_600;

export function snippetFor({ origin, roomId }: { origin: string; roomId: string }): string {
  return `import { createClient, LiveObject } from '@liveblocks/client';

const body = JSON.stringify({ userId: 'curious-coder-1234', color: '#0e7490' });
const ask = { method: 'POST', headers: { 'content-type': 'application/json' }, body };
const client = createClient({
  baseUrl: '${origin}',
  authEndpoint: () => fetch('${origin}/demo/token', ask).then((answer) => answer.json()),
});
const { root } = await client.enterRoom('${roomId}').room.getStorage();
root.get('list').push(new LiveObject({ id: crypto.randomUUID(), text: 'Hello from my own code', done: false }));`;
}

export function Snippet({ roomId }: { roomId: string }) {
  const [isCopied, setCopied] = useState(false);
  const code = snippetFor({ origin: location.origin, roomId });
  const copy = async () => {
    await navigator.clipboard.writeText(code);
    setCopied(true);
    setTimeout(() => setCopied(false), COPIED_MS);
  };
  return (
    <section className="snippet" aria-label="Code">
      <div className="snippet-words">
        <h2>Ten lines of your own</h2>
        <p>
          This page uses the public <code>@liveblocks/client</code> package and points it at this server. Run these lines and
          watch the list above.
        </p>
        <p>
          Yjs editors connect with <code>y-websocket</code>, too; back ends use REST: see the <a href="/docs">API</a>.
        </p>
      </div>
      <div className="code">
        <button type="button" onClick={copy} aria-live="polite">
          {isCopied ? 'Copied' : 'Copy'}
        </button>
        <pre>
          <code>{code}</code>
        </pre>
      </div>
    </section>
  );
}
