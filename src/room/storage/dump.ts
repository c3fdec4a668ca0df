/** Storage ↔ text, for snapshots. */
import { AppError } from '../../base/errors.ts';
import type { JsonObject } from '../../base/json.ts';
import { type CompactNode, CRDT, ROOT_ID } from '../../protocol/storage-ops.ts';
import { compactText } from './node-texts.ts';
import { type Content, isParent, type TextNode } from './nodes.ts';
import { loadHistory, type StoredHistory, storedHistory } from './text-history.ts';
import { emptyStorage, insertNode, type Storage, setPlain } from './tree.ts';

const TYPES: ReadonlySet<number> = new Set(Object.values(CRDT));

interface Stored {
  readonly nodes: readonly CompactNode[];
  readonly histories: readonly (readonly [id: string, history: StoredHistory])[];
  /** Absent in older snapshots, and so are the outlines. */
  readonly textOpIds?: readonly string[];
  readonly textOutlines?: readonly number[];
}

/**
 * Everything as one JSON text, for a snapshot. Text, because MessagePack has no room for half a surrogate pair and would change it
 * silently; JSON escapes it.
 */
export function dumpStorage(storage: Storage): unknown {
  const histories: Stored['histories'][number][] = [];
  for (const node of storage.nodes.values()) if (node.type === CRDT.TEXT) histories.push([node.id, storedHistory(node.history)]);
  const { textOpIds } = storage;
  const others = { histories, textOpIds: textOpIds.latest(), textOutlines: textOpIds.latestNotes() } satisfies Omit<
    Stored,
    'nodes'
  >;
  return `{"nodes":[${compactText(storage)}],${JSON.stringify(others).slice(1)}`;
}

/** @throws AppError ROOM_UNREADABLE when this is no dump */
export function loadStorage(dump: unknown): Storage {
  const storage = emptyStorage();
  try {
    const { nodes, histories, textOpIds = [], textOutlines = [] } = JSON.parse(dump as string) as Stored;
    if (nodes[0]?.[0] !== ROOT_ID) throw new AppError('ROOM_UNREADABLE', { reason: 'its Storage does not begin with the root' });
    for (const node of nodes) loadNode(storage, node);
    for (const [id, history] of histories) (storage.nodes.get(id) as TextNode).history = loadHistory(history);
    for (const [index, opId] of textOpIds.entries()) storage.textOpIds.add(opId, textOutlines[index]);
  } catch (error) {
    if (error instanceof AppError) throw error;
    throw new AppError('ROOM_UNREADABLE', { reason: `its Storage makes no tree (${String(error)})` });
  }
  return storage;
}

function loadNode(storage: Storage, stored: CompactNode): void {
  if (stored[0] === ROOT_ID) {
    for (const [key, value] of Object.entries(stored[1] as JsonObject)) setPlain(storage, storage.root, key, value);
    return;
  }
  const [id, type, parentId, key, data, version] = stored as readonly [string, number, string, string, unknown, number];
  const parent = storage.nodes.get(parentId);
  if (parent === undefined || !isParent(parent) || !TYPES.has(type) || parent.children.has(key) || storage.nodes.has(id)) {
    throw new AppError('ROOM_UNREADABLE', { reason: `the node ${id} of its Storage fits nowhere` });
  }
  insertNode(storage, { id, parent, key }, { type, data, version } as Content);
}
