/** What the texts that are written of Storage say, as values. */
import type { JsonObject } from '../../src/base/json.ts';
import type { CompactNode, SerializedCrdt } from '../../src/protocol/storage-ops.ts';
import { documentText } from '../../src/room/storage/document.ts';
import { compactText, LinesWriter } from '../../src/room/storage/node-texts.ts';
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
  const writer = new LinesWriter(storage);
  writer.write(Number.POSITIVE_INFINITY);
  return nodesIn(Buffer.from(writer.done()).toString());
}

/** A node in each line. */
export function nodesIn(lines: string): [string, SerializedCrdt][] {
  return lines
    .split('\n')
    .filter((line) => line !== '')
    .map((line) => JSON.parse(line));
}
