/** What the texts that are written of Storage say, as values. */
import type { JsonObject } from '../../src/base/json.ts';
import { textIn } from '../../src/base/pieces.ts';
import type { CompactNode, SerializedCrdt } from '../../src/protocol/storage-ops.ts';
import { compactText } from '../../src/room/storage/node-texts.ts';
import { documentText, LINES, piecesOf } from '../../src/room/storage/texts.ts';
import type { Storage } from '../../src/room/storage/tree.ts';

export function toJson(storage: Storage): JsonObject {
  return JSON.parse(documentText(storage, { format: 'json', typeKey: '' }));
}

export function toPlainLson(storage: Storage, typeKey: string): JsonObject {
  return JSON.parse(documentText(storage, { format: 'plain-lson', typeKey }));
}

export function compactNodes(storage: Storage): CompactNode[] {
  return JSON.parse(`[${compactText(storage)}]`);
}

export function serializedNodes(storage: Storage): [string, SerializedCrdt][] {
  return nodesIn(textIn(piecesOf({ ...storage, texts: null }, LINES)));
}

/** A node in each line. */
export function nodesIn(lines: string): [string, SerializedCrdt][] {
  return lines
    .split('\n')
    .filter((line) => line !== '')
    .map((line) => JSON.parse(line));
}
