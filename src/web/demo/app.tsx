/** The page of the demo: it enters the room and lays out what is shared there. */
import { LiveList, LiveMap, LiveObject, type Lson } from '@liveblocks/client';
import { ClientSideSuspense, LiveblocksProvider, RoomProvider } from '@liveblocks/react/suspense';
import { LiveblocksUiConfig } from '@liveblocks/react-ui';
import { Board } from './board.tsx';
import { Comments } from './comments.tsx';
import { Ended } from './ended.tsx';
import { Header } from './header.tsx';
import { List } from './list.tsx';
import { metBy } from './met.ts';
import { Snippet } from './snippet.tsx';
import { SharedText } from './text.tsx';
import { Trouble } from './trouble.tsx';
import { authorize, thisVisitor, visitorOf } from './visitor.ts';
import { WaitingRoom } from './waiting.tsx';

const visitor = thisVisitor();

/** `/?room=team` is a room of its own; all others meet in `demo`. */
const wanted = new URLSearchParams(location.search).get('room');
const roomId = wanted === null || wanted === '' ? 'demo' : `demo:${[...wanted].slice(0, 60).join('')}`;

/** A cursor is told this often at most. */
const THROTTLE_MS = 33;

function firstStorage(): Liveblocks['Storage'] {
  const note = (x: number, y: number, tint: string, text: string) => new LiveObject({ x, y, tint, text });
  const item = (id: string, text: string, done: boolean) => new LiveObject({ id, text, done });
  return {
    notes: new LiveMap([
      ['welcome', note(0.07, 0.12, 'sun', 'Drag me. Everybody sees it while it happens.')],
      ['second', note(0.45, 0.62, 'sea', 'Open this page in a second tab, side by side.')],
      ['third', note(0.88, 0.2, 'rose', 'Write on a note, or add one.')],
    ]),
    list: new LiveList<Lson>([
      item('a', 'Start the server', true),
      item('b', 'Open a second tab', false),
      item('c', 'Undo something', false),
    ]),
  };
}

export function App() {
  return (
    <LiveblocksProvider
      baseUrl={location.origin}
      throttle={THROTTLE_MS}
      authEndpoint={() => authorize(visitor)}
      resolveUsers={({ userIds }) => userIds.map(visitorOf)}
      resolveMentionSuggestions={({ text }) => metBy(text)}
    >
      <LiveblocksUiConfig emojibaseUrl={`${location.origin}/assets/emoji`}>
        <RoomProvider id={roomId} initialPresence={{ cursor: null, noteId: null }} initialStorage={firstStorage}>
          <Header visitor={visitor} />
          <main>
            <Ended />
            <p className="lead">
              Everything here is shared.{' '}
              <a href={location.href} target="_blank" rel="noopener opener">
                Open it in a second tab
              </a>{' '}
              and watch it move, or send the address to somebody.
            </p>
            <Trouble>
              <ClientSideSuspense fallback={<WaitingRoom />}>
                <div className="room">
                  <Trouble className="board-card">
                    <Board />
                  </Trouble>
                  <Trouble className="text-card">
                    <SharedText visitor={visitor} />
                  </Trouble>
                  <Trouble className="list-card">
                    <List />
                  </Trouble>
                  <Trouble className="comments-card">
                    <Comments />
                  </Trouble>
                </div>
              </ClientSideSuspense>
            </Trouble>
            <Snippet roomId={roomId} />
          </main>
        </RoomProvider>
      </LiveblocksUiConfig>
    </LiveblocksProvider>
  );
}
