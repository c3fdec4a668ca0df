/** The rooms of a simulation as they are in the tables at the start, and how to read what is in them. */
import * as Y from 'yjs';
import type { Json } from '../../src/base/json.ts';
import { type Pieces, textIn } from '../../src/base/pieces.ts';
import { entryCrc } from '../../src/kernel/persistence/journal-queries.ts';
import { OP, type Op } from '../../src/protocol/storage-ops.ts';
import { encodeRecord } from '../../src/room/journal-record.ts';
import type { Sight } from './audit.ts';
import type { FakeTables } from './postgres/tables.ts';

export const LIST_ID = '0:1';
export const TEXT_ID = '0:2';

const OPS: readonly Op[] = [
  { type: OP.CREATE_LIST, id: LIST_ID, opId: '0:1', parentId: 'root', parentKey: 'list' },
  { type: OP.CREATE_TEXT, id: TEXT_ID, opId: '0:2', parentId: 'root', parentKey: 'text', data: [], version: 0 },
];

/** A room with an empty list and an empty text, which nobody owns. */
export function furnish(tables: FakeTables, id: string): void {
  const pk = tables.nextPk();
  tables.addRoom(id, pk);
  const payload = encodeRecord({ kind: 'storage.ops', ops: OPS });
  const entry = { stream: pk, version: 1, count: 1, epoch: 0, payload };
  tables.append(pk, { ...entry, crc: entryCrc(entry) }, 'setup');
}

/** What the answer to `storage.read` shows. */
export function sightOf(json: Pieces): Sight {
  const { list = [], text: segments = [] } = JSON.parse(textIn(json)) as { list?: string[]; text?: Json };
  const typed = (segments as [string][]).map(([part]) => part).join('');
  return { list, text: typed.split(';').filter((token) => token !== '') };
}

/** The name under which the judge knows the room's Yjs document. */
export function drawingOf(room: string): string {
  return `${room} drawing`;
}

/** An update, as of a client of its own, that adds a token. */
export function drawingWith(token: string): Uint8Array {
  const doc = new Y.Doc();
  doc.clientID = Number(token.slice(1, -1));
  doc.getMap('tokens').set(token, true);
  return Y.encodeStateAsUpdate(doc);
}

export function tokensOfDrawing(update: Uint8Array): string[] {
  const doc = new Y.Doc();
  Y.applyUpdate(doc, update);
  return [...doc.getMap('tokens').keys()];
}

/** Tokens in a frame to a client. */
export function tokensIn(frame: string): string[] {
  return frame.match(TOKEN) ?? [];
}

const TOKEN = /\be\d+e\b/g;
