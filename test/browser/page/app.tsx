/** What a customer would write: the SDK's own components for threads, composer and inbox, and nothing more. Runs in a browser. */
import {
  ClientSideSuspense,
  LiveblocksProvider,
  RoomProvider,
  useAddReaction,
  useInboxNotifications,
  useThreads,
  useUnreadInboxNotificationsCount,
} from '@liveblocks/react/suspense';
import { Composer, InboxNotification, InboxNotificationList, Thread } from '@liveblocks/react-ui';
import '@liveblocks/react-ui/styles.css';
import { createRoot } from 'react-dom/client';

const PEOPLE: Readonly<Record<string, { name: string; color: string }>> = {
  ann: { name: 'Ann', color: '#c2410c' },
  bob: { name: 'Bob', color: '#1d4ed8' },
  cy: { name: 'Cy', color: '#15803d' },
};
const settings = new URLSearchParams(location.search);
const [baseUrl, roomId, userId] = ['baseUrl', 'roomId', 'userId'].map((name) => settings.get(name)!) as [string, string, string];

async function authorize(room?: string): Promise<{ token: string }> {
  const response = await fetch('/auth', { method: 'POST', body: JSON.stringify({ userId, room }) });
  return response.json();
}

function Threads() {
  const { threads } = useThreads();
  const addReaction = useAddReaction();
  return (
    <main>
      {threads.map((thread) => (
        <div key={thread.id} className="thread" data-resolved={thread.resolved}>
          <Thread thread={thread} showResolveAction indentCommentContent={false} />
          <button
            type="button"
            className="applaud"
            onClick={() =>
              addReaction({
                threadId: thread.id,
                commentId: thread.comments.filter((one) => !one.deletedAt).at(-1)!.id,
                emoji: '👏',
              })
            }
          >
            applaud the last
          </button>
        </div>
      ))}
      <Composer className="new-thread" />
    </main>
  );
}

function Inbox() {
  const { inboxNotifications } = useInboxNotifications();
  const { count } = useUnreadInboxNotificationsCount(); // the SDK asks for it once a minute, and when the page is looked at again
  const unread = inboxNotifications.filter(({ readAt, notifiedAt }) => readAt === null || readAt < notifiedAt);
  return (
    <aside>
      <h2>
        {PEOPLE[userId]!.name}: <span className="unread">{unread.length}</span> unread, <span className="counted">{count}</span>{' '}
        counted
      </h2>
      <InboxNotificationList>
        {inboxNotifications.map((notification) => (
          <InboxNotification key={notification.id} inboxNotification={notification} />
        ))}
      </InboxNotificationList>
    </aside>
  );
}

function App() {
  return (
    <LiveblocksProvider
      baseUrl={baseUrl}
      authEndpoint={authorize}
      resolveUsers={({ userIds }) => userIds.map((id) => PEOPLE[id])}
      resolveMentionSuggestions={({ text }) => Object.keys(PEOPLE).filter((id) => id.startsWith(text))}
    >
      {roomId === '' ? (
        <ClientSideSuspense fallback="…">
          <Inbox />
        </ClientSideSuspense>
      ) : (
        <RoomProvider id={roomId}>
          <ClientSideSuspense fallback="…">
            <Threads />
            <Inbox />
          </ClientSideSuspense>
        </RoomProvider>
      )}
    </LiveblocksProvider>
  );
}

createRoot(document.querySelector('#root')!).render(<App />);
