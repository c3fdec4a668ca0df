/** Comments beside the work, with the SDK's own components. */
import { stringifyCommentBody } from '@liveblocks/client';
import { ClientSideSuspense, useErrorListener, useStatus, useThreads } from '@liveblocks/react/suspense';
import { Composer, Thread } from '@liveblocks/react-ui';
import { type FormEvent, useState } from 'react';

const THREADS_SHOWN_MAX = 30;

export function Comments() {
  const isConnected = useStatus() === 'connected';
  const lost = useLostComment();
  // the SDK clears the box as it sends, and forgets what could not be sent
  const onSubmitCapture = (event: FormEvent) => {
    if (isConnected) return;
    event.preventDefault();
    event.stopPropagation();
  };
  return (
    <aside className="card comments-card" aria-label="Comments" onSubmitCapture={onSubmitCapture}>
      <div className="card-head">
        <h2>Comments</h2>
        <p>{isConnected ? 'Threads, replies, reactions.' : 'Not connected: a comment can be written, but not sent.'}</p>
      </div>
      {lost !== null && (
        <p className="lost" role="alert">
          The server did not take this comment: {lost}
        </p>
      )}
      <Composer className="composer" overrides={{ COMPOSER_PLACEHOLDER: 'Say something about this…' }} />
      <ClientSideSuspense fallback={<p className="empty">Loading comments…</p>}>
        <Threads />
      </ClientSideSuspense>
    </aside>
  );
}

/** The text of the last comment that was refused, to be copied and sent again. */
function useLostComment(): string | null {
  const [lost, setLost] = useState<string | null>(null);
  useErrorListener(({ context }) => {
    if ('body' in context) void stringifyCommentBody(context.body).then(setLost);
  });
  return lost;
}

function Threads() {
  const { threads } = useThreads({ query: { resolved: false } });
  if (threads.length === 0) return <p className="empty">No comments yet. Write the first one.</p>;
  const newestFirst = threads.toSorted((a, b) => b.createdAt.getTime() - a.createdAt.getTime());
  return (
    <div className="threads">
      {newestFirst.slice(0, THREADS_SHOWN_MAX).map((thread) => (
        <Thread key={thread.id} thread={thread} indentCommentContent={false} showComposer="collapsed" />
      ))}
    </div>
  );
}
