/** Where rooms come from: a server with this API, or a folder of Yjs documents. */
import { documentsIn } from '../../adapters/import-files.ts';
import type { Origin } from './plan.ts';
import { type RestClient, RestFailure, restClient } from './rest-client.ts';

/** What a room is made with. */
export interface RoomFacts {
  readonly id: string;
  readonly organizationId?: string;
  readonly metadata?: Readonly<Record<string, unknown>>;
  readonly defaultAccesses: readonly string[];
  readonly usersAccesses?: Readonly<Record<string, readonly string[]>>;
  readonly groupsAccesses?: Readonly<Record<string, readonly string[]>>;
}

export interface Source {
  rooms(): AsyncIterable<RoomFacts>;
  /** The Storage document as LSON; null when the room has none. */
  storage(roomId: string): Promise<unknown>;
  /** The Storage document as plain JSON, to compare. */
  plainStorage(roomId: string): Promise<unknown>;
  /** The Yjs document as one update; null when the room has none. */
  ydoc(roomId: string): Promise<Uint8Array | null>;
  threads(roomId: string): Promise<readonly ThreadOfRoom[]>;
  /** Some servers have none. */
  feeds(roomId: string): AsyncIterable<FeedOfRoom>;
}

/** As the contract has it; most of it passes through. */
export interface ThreadOfRoom {
  readonly id: string;
  readonly comments: readonly { readonly attachments?: readonly unknown[] }[];
}

interface FeedFacts {
  readonly feedId: string;
  readonly metadata: unknown;
  readonly createdAt: number;
}

interface MessageOfFeed {
  readonly id: string;
  readonly data: unknown;
  readonly createdAt: number;
  readonly updatedAt: number;
}

export interface FeedOfRoom extends FeedFacts {
  /** Oldest first. */
  readonly messages: readonly MessageOfFeed[];
}

interface OpenSource {
  /** Of rooms out of a folder. */
  readonly defaultAccesses: readonly string[];
  /** Told once, with why a server is waited for. */
  readonly onWait: (sentence: string) => void;
  /** Told of each file in a folder that becomes no room, with why. */
  readonly onRefused: (fileName: string, why: string) => void;
}

export function openSource(from: Origin, { onWait, ...options }: OpenSource): Source {
  return from.kind === 'server' ? serverSource(restClient({ ...from, onWait }), from.query) : folderSource(from.path, options);
}

interface RoomPage {
  readonly data: readonly RoomFacts[];
  readonly nextCursor?: string | null;
}

const PAGE_ROOMS = 100;
const PAGE_ITEMS = 100;
/** That somebody has none, or that nobody there knows of such. */
const NONE = [404, 405, 501];
/** Servers name the organisation of rooms that have none. */
const NO_ORGANIZATION = 'default';
/** An update that says nothing: no structs, no deletions. */
const EMPTY_UPDATE_BYTES = 2;

export function serverSource(client: RestClient, query: string | null): Source {
  return {
    async *rooms() {
      for (let cursor: string | null = null; ; ) {
        const search = new URLSearchParams({ limit: String(PAGE_ROOMS) });
        if (cursor !== null) search.set('startingAfter', cursor);
        if (query !== null) search.set('query', query);
        const page = (await client.json('GET', `/v2/rooms?${search}`)) as RoomPage;
        yield* page.data.map(factsOf);
        cursor = page.nextCursor ?? null;
        if (cursor === null) return;
      }
    },
    storage: async (roomId) => unlessEmpty(await found(client.json('GET', `${pathOf(roomId)}/storage`))),
    plainStorage: (roomId) => found(client.json('GET', `${pathOf(roomId)}/storage?format=json`)),
    async ydoc(roomId) {
      const update = (await found(client.bytes(`${pathOf(roomId)}/ydoc-binary`))) as Uint8Array | null;
      return update === null || update.length <= EMPTY_UPDATE_BYTES ? null : update;
    },
    async threads(roomId) {
      const list = (await found(client.json('GET', `${pathOf(roomId)}/threads`))) as { data: ThreadOfRoom[] } | null;
      return list?.data ?? [];
    },
    async *feeds(roomId) {
      const path = `${pathOf(roomId)}/feeds`;
      for await (const feed of pages<FeedFacts>(client, path)) {
        const messages: MessageOfFeed[] = [];
        for await (const message of pages<MessageOfFeed>(client, `${path}/${encodeURIComponent(feed.feedId)}/messages`))
          messages.push(message);
        yield { ...feed, messages: messages.reverse() };
      }
    },
  };
}

function folderSource(folder: string, { defaultAccesses, onRefused }: Omit<OpenSource, 'onWait'>): Source {
  const documents = documentsIn(folder);
  return {
    async *rooms() {
      for (const id of await documents.ids(onRefused)) yield { id, defaultAccesses };
    },
    storage: async () => null,
    plainStorage: async () => ({}),
    ydoc: (roomId) => documents.read(roomId),
    threads: async () => [],
    async *feeds() {
      yield* []; // only documents are in files
    },
  };
}

async function* pages<Item>(client: RestClient, path: string): AsyncIterable<Item> {
  for (let cursor: string | null = null; ; ) {
    const search = new URLSearchParams({ limit: String(PAGE_ITEMS), ...(cursor !== null && { cursor }) });
    const page = (await found(client.json('GET', `${path}?${search}`))) as { data: Item[]; nextCursor?: string | null } | null;
    if (page === null) return;
    yield* page.data;
    cursor = page.nextCursor ?? null;
    if (cursor === null) return;
  }
}

export function pathOf(roomId: string): string {
  return `/v2/rooms/${encodeURIComponent(roomId)}`;
}

function factsOf(room: RoomFacts): RoomFacts {
  const {
    id,
    organizationId = NO_ORGANIZATION,
    metadata = {},
    defaultAccesses = [],
    usersAccesses = {},
    groupsAccesses = {},
  } = room;
  const own = organizationId === NO_ORGANIZATION ? {} : { organizationId };
  return { id, ...own, metadata, defaultAccesses, usersAccesses, groupsAccesses };
}

function unlessEmpty(document: unknown): unknown {
  const { data } = (document ?? {}) as { data?: Record<string, unknown> };
  return data === undefined || Object.keys(data).length === 0 ? null : document;
}

/** Some servers say 404 of a document that nobody has made yet, or of what they do not serve. */
async function found(asking: Promise<unknown>): Promise<unknown> {
  try {
    return await asking;
  } catch (error) {
    if (error instanceof RestFailure && NONE.includes(error.status)) return null;
    throw error;
  }
}
