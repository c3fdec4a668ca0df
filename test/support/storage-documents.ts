/** What the documents of Storage say, as values. */
import type { JsonObject } from '../../src/base/json.ts';
import { documentText } from '../../src/room/storage/document.ts';
import type { Storage } from '../../src/room/storage/tree.ts';

export function toJson(storage: Storage): JsonObject {
  return JSON.parse(documentText(storage, { format: 'json', typeKey: '' }));
}

export function toPlainLson(storage: Storage, typeKey: string): JsonObject {
  return JSON.parse(documentText(storage, { format: 'plain-lson', typeKey }));
}
