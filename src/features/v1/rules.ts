/** Storage documents as the first REST API knows them: LiveObject, LiveList and LiveMap (contract, Versioning 2). Pure. */
import { valueAtKey } from '../../base/errors.ts';
import { isJsonObject, type Json } from '../../base/json.ts';
import { pointerSegment } from '../../base/json-pointer.ts';

const KINDS = ['LiveObject', 'LiveList', 'LiveMap'];
/** What came later, and is shown as the plain JSON it holds: a text as its segments, a file as its metadata. */
const LATER_KINDS: readonly unknown[] = ['LiveText', 'LiveFile'];
const TYPE_KEYS = ['serviceType', 'liveblocksType'];

/** The document without kinds that came later. @param typeKey names the kind of a node in it */
export function olderDocument(value: Json, typeKey: string): Json {
  if (Array.isArray(value)) return value.map((item: Json) => olderDocument(item, typeKey));
  if (!isJsonObject(value)) return value;
  if (LATER_KINDS.includes(value[typeKey]) && value.data !== undefined) return value.data;
  return Object.fromEntries(Object.entries(value).map(([key, inner]) => [key, olderDocument(inner, typeKey)]));
}

/** @throws AppError UNPROCESSABLE_ENTITY with the pointer of the first node of a later kind. */
export function checkOlderKinds(value: Json, pointer = ''): void {
  if (typeof value !== 'object' || value === null) return;
  for (const key of TYPE_KEYS) {
    if (isJsonObject(value) && LATER_KINDS.includes(value[key]))
      throw valueAtKey(pointer + pointerSegment(key), `must be one of ${KINDS.join(', ')}; /v2 takes the others`);
  }
  for (const [key, inner] of Object.entries(value)) checkOlderKinds(inner as Json, pointer + pointerSegment(key));
}
