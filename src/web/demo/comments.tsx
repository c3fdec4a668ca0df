/** Comments beside the work, with the SDK's own components. */
import { ClientSideSuspense, useThreads } from '@liveblocks/react/suspense';
import { Composer, Thread } from '@liveblocks/react-ui';

const THREADS_SHOWN_MAX = 30;

export function Comments() {
  return (
    <aside className="card comments-card" aria-label="Comments">
      <div className="card-head">
        <h2>Comments</h2>
        <p>Threads, replies, reactions.</p>
      </div>
      <Composer className="composer" overrides={{ COMPOSER_PLACEHOLDER: 'Say something about this…' }} />
      <ClientSideSuspense fallback={<p className="empty">Loading comments…</p>}>
        <Threads />
      </ClientSideSuspense>
    </aside>
  );
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
