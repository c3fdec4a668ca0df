/** Where the writers write: a room with a list, a map, a text and a Yjs document, and how to find again every id that is in it. */
import type { Liveblocks } from '@liveblocks/node';
import * as Y from 'yjs';
import { ask } from '../support/e2e/rest.ts';
import type { TestServer } from '../support/e2e/server.ts';

/** The server as writers know it: an address that is sometimes dead. */
export type Target = TestServer;

/** An id in a text: between marks, since a text has no items. */
export function mark(id: string): string {
  return `«${id}»`;
}

export function marksIn(text: string): string[] {
  return Array.from(text.matchAll(/«([^«»]*)»/g), ([, id]) => id!);
}

export async function makeRoom(backend: Liveblocks, roomId: string): Promise<void> {
  await backend.createRoom(roomId, { defaultAccesses: [] });
  const node = (liveblocksType: string, data: unknown) => ({ liveblocksType, data });
  await backend.initializeStorageDocument(
    roomId,
    node('LiveObject', { list: node('LiveList', []), map: node('LiveMap', {}), text: node('LiveText', []) }) as never,
  );
}

interface Document {
  readonly list: readonly string[];
  readonly map: Readonly<Record<string, unknown>>;
  readonly text: readonly (readonly [string, object?])[];
}

export interface Content {
  readonly storage: Document;
  readonly ydoc: string;
}

/** All that is in a room, by REST. */
export async function contentOf(server: Target, roomId: string): Promise<Content> {
  const storage = (await server.backend.getStorageDocument(roomId, 'json')) as unknown as Document;
  const doc = new Y.Doc();
  Y.applyUpdate(doc, new Uint8Array(await server.backend.getYjsDocumentAsBinaryUpdate(roomId)));
  return { storage, ydoc: doc.getText('text').toString() };
}

export function idsIn({ storage, ydoc }: Content): string[] {
  const text = storage.text.map(([run]) => run).join('');
  return [...storage.list, ...Object.keys(storage.map), ...marksIn(text), ...marksIn(ydoc)];
}

/** The ids of created rooms, and those written into the metadata of a room by updates. */
export async function idsOfRooms(server: Target, prefix: string): Promise<string[]> {
  const found: string[] = [];
  let cursor: string | null = '';
  while (cursor !== null) {
    const query = new URLSearchParams({
      limit: '100',
      query: `roomId^"${prefix}"`,
      ...(cursor === '' ? {} : { startingAfter: cursor }),
    });
    const { status, json, text } = await ask(server, `/v2/rooms?${query}`);
    if (status !== 200) throw new Error(`rooms are not listed: ${status} ${text}`);
    for (const { id, metadata } of json.data as { id: string; metadata: { mark?: string } }[]) {
      found.push(id.slice(prefix.length), ...(metadata.mark === undefined ? [] : [metadata.mark]));
    }
    cursor = json.nextCursor as string | null;
  }
  return found;
}
