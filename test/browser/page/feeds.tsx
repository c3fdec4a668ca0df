/** What a customer would write for a chat: the SDK's hooks for feeds, and nothing more. Runs in a browser. */
import {
  LiveblocksProvider,
  RoomProvider,
  useCreateFeed,
  useCreateFeedMessage,
  useDeleteFeed,
  useDeleteFeedMessage,
  useFeedMessages,
  useFeeds,
  useUpdateFeedMessage,
  useUpdateFeedMetadata,
} from '@liveblocks/react';
import { useState } from 'react';
import { createRoot } from 'react-dom/client';

const settings = new URLSearchParams(location.search);
const [baseUrl, roomId, userId] = ['baseUrl', 'roomId', 'userId'].map((name) => settings.get(name)!) as [string, string, string];

async function authorize(room?: string): Promise<{ token: string }> {
  const response = await fetch('/auth', { method: 'POST', body: JSON.stringify({ userId, room }) });
  return response.json();
}

/** How many promises of the hooks were kept, and why others were not. */
function useOutcomes() {
  const [outcomes, setOutcomes] = useState<readonly string[]>([]);
  const note = (outcome: string) => setOutcomes((before) => [...before, outcome]);
  const follow = (done: Promise<void>) =>
    void done.then(
      () => note('done'),
      (error) => note(String(error)),
    );
  return { outcomes, follow };
}

function Feeds() {
  const { feeds = [], error, isLoading } = useFeeds();
  const { outcomes, follow } = useOutcomes();
  const [createFeed, updateMetadata, deleteFeed] = [useCreateFeed(), useUpdateFeedMetadata(), useDeleteFeed()];
  return (
    <main data-loading={isLoading}>
      <p className="outcomes">{[...outcomes, ...(error ? [String(error)] : [])].join(', ')}</p>
      <button type="button" onClick={() => follow(createFeed('chat', { metadata: { name: 'A chat', tags: ['new'] } }))}>
        Create feed
      </button>
      {feeds.map(({ feedId, metadata }) => (
        <section key={feedId}>
          <h2>{JSON.stringify(metadata)}</h2>
          <button type="button" onClick={() => follow(updateMetadata(feedId, { name: 'Our chat', tags: null }))}>
            Rename feed
          </button>
          <button type="button" onClick={() => follow(deleteFeed(feedId))}>
            Delete feed
          </button>
          <Messages feedId={feedId} follow={follow} />
        </section>
      ))}
    </main>
  );
}

const textOf = (data: unknown): string => (data as { text: string }).text;

function Messages({ feedId, follow }: { feedId: string; follow(done: Promise<void>): void }) {
  const { messages = [], fetchMore, hasFetchedAll } = useFeedMessages(feedId, { limit: 3 });
  const [say, edit, remove] = [useCreateFeedMessage(), useUpdateFeedMessage(), useDeleteFeedMessage()];
  const sayAll = () => {
    for (const text of ['one', 'two', 'three', 'four', 'five']) follow(say(feedId, { text }));
  };
  return (
    <>
      <button type="button" onClick={sayAll}>
        Say five
      </button>
      {hasFetchedAll === false && (
        <button type="button" onClick={fetchMore}>
          Older
        </button>
      )}
      <ol>
        {messages.map(({ id, data }) => (
          <li key={id}>
            <span className="text">{textOf(data)}</span>
            <button type="button" onClick={() => follow(edit(feedId, id, { text: `${textOf(data)}!` }))}>
              Edit
            </button>
            <button type="button" onClick={() => follow(remove(feedId, id))}>
              Delete
            </button>
          </li>
        ))}
      </ol>
    </>
  );
}

createRoot(document.querySelector('#root')!).render(
  <LiveblocksProvider baseUrl={baseUrl} authEndpoint={authorize}>
    <RoomProvider id={roomId}>
      <Feeds />
    </RoomProvider>
  </LiveblocksProvider>,
);
