/**
 * JSON Patch on Storage (RFC 6902; contract "JSON Patch rules", supplement 1.5): the shape of a patch, and applying it whole or not at all.
 *
 * What one operation does stands in `patch-steps.ts`. Every change goes through the same ops as a client's, so clients see it live.
 */
import Type, { type Static, type TProperties } from 'typebox';
import { missingKey, valueAtKey } from '../../base/errors.ts';
import { isJsonObject, type Json } from '../../base/json.ts';
import { parsePointer } from '../../base/json-pointer.ts';
import { type Applied, newBatch } from './apply.ts';
import type { NewIds } from './draft.ts';
import { refuse } from './patch-places.ts';
import { applyStep } from './patch-steps.ts';
import { atomically, type Storage } from './tree.ts';

/** Operations in one patch (reliability 2.f). */
export const PATCH_OPERATIONS_MAX = 1_000;

const Pointer = Type.String({ description: 'A JSON pointer (RFC 6901); it starts with a slash.' });
const AnyJson = Type.Unsafe<Json>(Type.Unknown());

function operation<const Name extends string, Fields extends TProperties>(op: Name, fields: Fields) {
  return Type.Object({ op: Type.Literal(op), path: Pointer, ...fields }, { additionalProperties: false });
}

const SHAPES = {
  add: operation('add', { value: AnyJson }),
  remove: operation('remove', {}),
  replace: operation('replace', { value: AnyJson }),
  move: operation('move', { from: Pointer }),
  copy: operation('copy', { from: Pointer }),
  test: operation('test', { value: AnyJson }),
} as const;

/** For the API's description; `checkPatch` gives better reasons. */
export const PatchOperation = Type.Union([SHAPES.add, SHAPES.remove, SHAPES.replace, SHAPES.move, SHAPES.copy, SHAPES.test]);
export type PatchOperation = Static<typeof PatchOperation>;

/** `missing`: the first of its operations that names a file which the room does not have fails, if it is come to. */
export interface JsonPatch {
  readonly operations: readonly PatchOperation[];
  readonly missing?: { readonly index: number; readonly fileId: string };
}

/** The members of each operation. */
const FIELDS: ReadonlyMap<unknown, readonly string[]> = new Map(
  Object.entries(SHAPES).map(([name, { properties }]) => [name, Object.keys(properties)]),
);

/** @throws AppError UNPROCESSABLE_ENTITY for what is no patch at all, whatever the document */
export function checkPatch(body: unknown): PatchOperation[] {
  if (!Array.isArray(body)) throw valueAtKey('', 'must be an array of operations');
  if (body.length > PATCH_OPERATIONS_MAX) throw valueAtKey('', `must not have more than ${PATCH_OPERATIONS_MAX} operations`);
  return body.map(checkOperation);
}

function checkOperation(value: unknown, index: number): PatchOperation {
  const at = `/${index}`;
  if (!isJsonObject(value)) throw valueAtKey(at, 'must be an object');
  if (!Object.hasOwn(value, 'op')) throw missingKey(`${at}/op`);
  const fields = FIELDS.get(value.op);
  if (fields === undefined) throw valueAtKey(`${at}/op`, `must be one of ${[...FIELDS.keys()].join(', ')}`);
  const missing = fields.find((field) => !Object.hasOwn(value, field));
  if (missing !== undefined) throw missingKey(`${at}/${missing}`);
  const extra = Object.keys(value).find((key) => !fields.includes(key));
  if (extra !== undefined) throw valueAtKey(`${at}/${extra}`, `is not expected in the operation ${value.op as string}`);
  checkPointer(value.path, `${at}/path`);
  if (fields.includes('from')) checkPointer(value.from, `${at}/from`);
  return value as PatchOperation;
}

function checkPointer(value: Json | undefined, key: string): void {
  if (typeof value !== 'string') throw valueAtKey(key, 'must be a string');
  parsePointer(value, key);
}

/**
 * Applies a checked patch. The acks among the replies concern nobody.
 * @throws AppError INVALID_STORAGE_MUTATION_REQUEST { index, op, path, reason } for the first operation that fails, and
 *   UNPROCESSABLE_ENTITY for a value that may not be stored; then nothing has changed.
 */
export function applyJsonPatch(storage: Storage, { operations, missing }: JsonPatch, ids: NewIds): Applied {
  const batch = newBatch();
  const spent = { changes: 0, copied: 0, characters: 0 };
  atomically(storage, () => {
    for (const [index, operation] of operations.entries()) {
      const step = { storage, ids, batch, spent, index, operation };
      if (index === missing?.index) refuse(step, `no file "${missing.fileId}" was uploaded to this room`);
      applyStep(step);
    }
    return undefined;
  });
  return batch.applied;
}
