/** A room and its two users, from the first call to the last: all that an application may do with them, by real clients. Afterwards nothing of them is needed any more. */
import { type Client, createClient, LiveList, LiveMap, type LiveObject, type Lson, type Room } from '@liveblocks/client';
import type { Liveblocks } from '@liveblocks/node';
import { WebSocket } from 'ws';
import { WebsocketProvider } from 'y-websocket';
import * as Y from 'yjs';
import { restHeaders } from '../servers/server.ts';

export interface Place {
  /** Where clients reach it: `http://…`. */
  readonly url: string;
  readonly publicKey: string;
  readonly backend: Liveblocks;
}

interface Life {
  readonly place: Place;
  readonly roomId: string;
  /** Two. */
  readonly users: readonly [string, string];
}

type Leave = () => void;

const STAY_MS = 200;
const SYNC_MS_MAX = 10_000;
const FILE_BYTES = 2_000;

/** @throws an Error when anything was refused */
export async function live(place: Place, number: number): Promise<void> {
  const life: Life = { place, roomId: `life-${number}`, users: [`ann-${number}`, `ben-${number}`] };
  const { backend } = place;
  const { roomId, users } = life;
  await backend.createRoom(roomId, { defaultAccesses: ['room:write'], metadata: { number: String(number) } });
  const leaves: Leave[] = [];
  try {
    await draw(life, 0, leaves);
    await draw(life, 1, leaves);
    await type(life, leaves);
    await askOfDocuments(life, number);
    await comment(life);
    await administrate(life, number);
    await new Promise((resolve) => setTimeout(resolve, STAY_MS));
  } finally {
    for (const leave of leaves) leave();
  }
  for (const userId of users) await backend.deleteAllInboxNotifications({ userId });
  await backend.deleteRoom(roomId);
}

/** Over the SDK of browsers, one user with an access token, the other with an ID token. Says how it leaves. */
async function draw({ place, roomId, users }: Life, which: 0 | 1, leaves: Leave[]): Promise<void> {
  const userId = users[which];
  const token = async (): Promise<{ token: string }> => {
    const session = place.backend.prepareSession(userId, { userInfo: { name: userId } });
    session.allow(roomId, session.FULL_ACCESS);
    const { body } = await (which === 0 ? session.authorize() : place.backend.identifyUser({ userId, groupIds: [] }));
    return JSON.parse(body);
  };
  const polyfills = { WebSocket: WebSocket as never, fetch };
  const client: Client = createClient({ baseUrl: place.url, throttle: 16, polyfills, authEndpoint: token } as never);
  const initialStorage = { list: new LiveList<Lson>([]), map: new LiveMap<string, Lson>() };
  const { room, leave } = client.enterRoom(roomId, { initialPresence: { x: 0 }, initialStorage } as never);
  leaves.push(leave);
  const { root } = (await room.getStorage()) as unknown as { root: LiveObject<typeof initialStorage> };
  for (let turn = 0; turn < 5; turn += 1) {
    root.get('list').push(`item ${turn}`);
    root.get('map').set(`key ${turn}`, turn);
    room.updatePresence({ x: turn } as never);
  }
  root.get('list').delete(0);
  room.broadcastEvent({ type: 'hello' } as never);
  if (which === 0) await attach(room);
  await client.getInboxNotifications();
  await room.getThreads();
}

async function attach(room: Room): Promise<void> {
  const file = new File([new Uint8Array(FILE_BYTES)], 'a file.bin');
  const { id } = await room.uploadAttachment(room.prepareAttachment(file));
  await room.createThread({ body: says('with a file'), attachmentIds: [id], metadata: {} } as never);
  await room.getAttachmentUrl(id);
}

/** Over y-websocket. Says how it leaves. */
async function type({ place: { url, publicKey }, roomId }: Life, leaves: Leave[]): Promise<void> {
  const doc = new Y.Doc();
  const options = { params: { pubkey: publicKey }, WebSocketPolyfill: WebSocket as never, disableBc: true };
  const provider = new WebsocketProvider(`${url.replace(/^http/, 'ws')}/yjs`, roomId, doc, options);
  leaves.push(() => {
    provider.destroy();
    doc.destroy();
  });
  await new Promise<void>((resolve, reject) => {
    const late = setTimeout(() => reject(new Error('y-websocket did not sync')), SYNC_MS_MAX);
    provider.once('sync', () => {
      clearTimeout(late);
      resolve();
    });
  });
  doc.getText('text').insert(0, `typed in ${roomId}`);
  provider.awareness.setLocalStateField('user', { name: 'typist' });
}

async function askOfDocuments({ place, roomId }: Life, number: number): Promise<void> {
  const { backend } = place;
  const headers = { ...restHeaders(), 'idempotency-key': `key-${number}` };
  const body = JSON.stringify([{ op: 'add', path: '/patched', value: number }]);
  const patched = await fetch(`${place.url}/v2/rooms/${roomId}/storage/json-patch`, { method: 'PATCH', headers, body });
  if (!patched.ok) throw new Error(`a patch was answered ${patched.status}`);
  await backend.mutateStorage(roomId, ({ root }) => root.set('mutated' as never, number as never));
  await backend.getStorageDocument(roomId, 'json');
  const doc = new Y.Doc();
  doc.getMap('map').set('number', number);
  await backend.sendYjsBinaryUpdate(roomId, Y.encodeStateAsUpdate(doc));
  await backend.getYjsDocument(roomId);
}

async function comment({ place: { backend }, roomId, users: [ann, ben] }: Life): Promise<void> {
  const thread = await backend.createThread({ roomId, data: { comment: { userId: ann, body: says('hi', ben) } } });
  const data = { userId: ben, body: says('yes', ann) };
  const { id: commentId } = await backend.createComment({ roomId, threadId: thread.id, data });
  await backend.addCommentReaction({ roomId, threadId: thread.id, commentId, data: { userId: ann, emoji: '👍' } });
  await backend.getInboxNotifications({ userId: ben });
  await backend.deleteThread({ roomId, threadId: thread.id });
}

async function administrate({ place: { backend, url }, roomId, users: [ann, ben] }: Life, number: number): Promise<void> {
  await backend.broadcastEvent(roomId, { type: 'hello' });
  await backend.setPresence(roomId, { userId: `bot-${number}`, data: { number }, userInfo: { name: 'bot' }, ttl: 2 });
  await backend.getActiveUsers(roomId);
  await backend.getRooms({ query: { metadata: { number: String(number) } } });
  const made = await fetch(`${url}/v2/rooms/${roomId}/versions`, { method: 'POST', headers: restHeaders(), body: '{}' });
  if (!made.ok) throw new Error(`a version was answered ${made.status}`);
  await backend.createGroup({ groupId: `group-${number}`, memberIds: [ann, ben] });
  await backend.deleteGroup({ groupId: `group-${number}` });
}

function says(text: string, ...mentioned: string[]): never {
  const mentions = mentioned.map((id) => ({ type: 'mention', kind: 'user', id }));
  return { version: 1, content: [{ type: 'paragraph', children: [{ text }, ...mentions] }] } as never;
}
