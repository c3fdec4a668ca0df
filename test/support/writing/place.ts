/** Where the writers write: a room with a list, a map, a text and a Yjs document, and how to find again every id that is in it. */
import type { Liveblocks } from '@liveblocks/node';
import * as Y from 'yjs';
import { ask } from '../e2e/rest.ts';
import type { TestServer } from '../e2e/server.ts';

/** The server as writers know it: an address that is sometimes dead. */
export type Target = TestServer;

/** An id in a text: between marks, since a text has no items. */
export function mark(id: string): string {
  return `«${id}»`;
}

/** Also those that another one was typed into: nothing is lost of such a one, it is only not where it was meant. */
export function marksIn(text: string): string[] {
  const ids: string[] = [];
  for (let rest = text, size = -1; rest.length !== size; ) {
    size = rest.length;
    rest = rest.replace(/«([^«»]*)»/g, (_, id: string) => {
      ids.push(id);
      return '';
    });
  }
  return ids;
}

/** `ballast`: strings that only make the room large. */
export async function makeRoom(backend: Liveblocks, roomId: string, ballast: readonly string[] = []): Promise<void> {
  await backend.createRoom(roomId, { defaultAccesses: [] });
  const node = (liveblocksType: string, data: unknown) => ({ liveblocksType, data });
  const places = { list: node('LiveList', []), map: node('LiveMap', {}), text: node('LiveText', []) };
  await backend.initializeStorageDocument(
    roomId,
    node('LiveObject', ballast.length === 0 ? places : { ...places, ballast: node('LiveList', ballast) }) as never,
  );
}

export interface StoredDocument {
  readonly list: readonly string[];
  readonly map: Readonly<Record<string, unknown>>;
  readonly text: readonly (readonly [string, object?])[];
}

export interface Content {
  readonly storage: StoredDocument;
  readonly ydoc: string;
}

/** All that is in a room, by REST. */
export async function contentOf(server: Target, roomId: string): Promise<Content> {
  const storage = (await server.backend.getStorageDocument(roomId, 'json')) as unknown as StoredDocument;
  const doc = new Y.Doc();
  Y.applyUpdate(doc, new Uint8Array(await server.backend.getYjsDocumentAsBinaryUpdate(roomId)));
  return { storage, ydoc: doc.getText('text').toString() };
}

export function idsIn({ storage, ydoc }: Content): string[] {
  return [...idsInStorage(storage), ...marksIn(ydoc)];
}

export function idsInStorage({ list, map, text }: StoredDocument): string[] {
  return [...list, ...Object.keys(map), ...marksIn(text.map(([run]) => run).join(''))];
}

const REGISTER = 3;
const TEXT = 4;

/** The same, of the nodes of a snapshot as sockets get it (protocol, compact nodes). */
export function storageIn(nodes: readonly (readonly unknown[])[]): StoredDocument {
  const placeOf = (name: string) => nodes.find(([, , parentId, key]) => parentId === 'root' && key === name);
  const registersIn = (name: string) => {
    const id = placeOf(name)?.[0];
    return nodes.filter(([, type, parentId]) => type === REGISTER && parentId === id) as [
      string,
      number,
      string,
      string,
      unknown,
    ][];
  };
  const inOrder = registersIn('list').sort(([, , , a], [, , , b]) => (a < b ? -1 : 1));
  const text = placeOf('text');
  return {
    list: inOrder.map(([, , , , value]) => value as string),
    map: Object.fromEntries(registersIn('map').map(([, , , key, value]) => [key, value])),
    text: text?.[1] === TEXT ? (text[4] as [string][]) : [],
  };
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
