/** Builders of Storage ops and of small Storages, for tests. */
import type { Json, JsonObject } from '../../../src/base/json.ts';
import { type LiveTextData, OP, type Op, type TextOperation } from '../../../src/protocol/storage-ops.ts';
import { type Applied, applyOps } from '../../../src/room/storage/apply.ts';
import type { NewIds } from '../../../src/room/storage/draft.ts';
import { emptyStorage, type Storage } from '../../../src/room/storage/tree.ts';

/** Intent and deletedId of a create. */
interface Intent {
  intent?: 'set' | 'push';
  deletedId?: string;
}

export const createObject = (
  opId: string,
  id: string,
  parentId: string,
  parentKey: string,
  data: JsonObject = {},
  intent: Intent = {},
): Op => ({
  type: OP.CREATE_OBJECT,
  opId,
  id,
  parentId,
  parentKey,
  data,
  ...intent,
});
export const createList = (opId: string, id: string, parentId: string, parentKey: string): Op => ({
  type: OP.CREATE_LIST,
  opId,
  id,
  parentId,
  parentKey,
});
export const createMap = (opId: string, id: string, parentId: string, parentKey: string): Op => ({
  type: OP.CREATE_MAP,
  opId,
  id,
  parentId,
  parentKey,
});
export const createRegister = (
  opId: string,
  id: string,
  parentId: string,
  parentKey: string,
  data: Json,
  intent: Intent = {},
): Op => ({
  type: OP.CREATE_REGISTER,
  opId,
  id,
  parentId,
  parentKey,
  data,
  ...intent,
});
export const createText = (
  opId: string,
  id: string,
  parentId: string,
  parentKey: string,
  data: LiveTextData,
  version = 0,
): Op => ({
  type: OP.CREATE_TEXT,
  opId,
  id,
  parentId,
  parentKey,
  data,
  version,
});
export const createFile = (opId: string, id: string, parentId: string, parentKey: string): Op => ({
  type: OP.CREATE_FILE,
  opId,
  id,
  parentId,
  parentKey,
  data: FILE,
});
export const updateObject = (opId: string, id: string, data: JsonObject): Op => ({ type: OP.UPDATE_OBJECT, opId, id, data });
export const deleteKey = (opId: string, id: string, key: string): Op => ({ type: OP.DELETE_OBJECT_KEY, opId, id, key });
export const deleteNode = (opId: string, id: string): Op => ({ type: OP.DELETE_CRDT, opId, id });
export const moveItem = (opId: string, id: string, parentKey: string): Op => ({ type: OP.SET_PARENT_KEY, opId, id, parentKey });
export const updateText = (opId: string, id: string, baseVersion: number, ops: TextOperation[]): Op => ({
  type: OP.UPDATE_TEXT,
  opId,
  id,
  baseVersion,
  ops,
});

export const FILE = { id: `fl_${'a'.repeat(21)}`, name: 'plan.pdf', size: 3, mimeType: 'application/pdf' };

/** The ack of an op that had no effect. */
export const seen = (opId: string): Op => ({ type: OP.DELETE_CRDT, id: 'ACK', opId });

/** The op as everybody but its sender gets it. */
export function untagged(op: Op): Op {
  const { opId, ...rest } = op;
  return rest as Op;
}

/** A Storage that these ops made; every op must have been applied. */
export function storageOf(...ops: Op[]): Storage {
  const storage = emptyStorage();
  const { journal } = applyOps(storage, ops, { actor: 1 });
  if (journal.length !== ops.length) throw new Error(`${ops.length - journal.length} ops of the set-up had no effect`);
  return storage;
}

/** Applies ops of the actor their first opId names. */
export function send(storage: Storage, ...ops: Op[]): Applied {
  return applyOps(storage, ops, { actor: Number.parseInt(ops[0]?.opId ?? '0', 10) });
}

/** Ids of an actor that no test uses otherwise. */
export function newIds(actor = 900): NewIds {
  let nodes = 0;
  let ops = 0;
  return { nextNodeId: () => `${actor}:${nodes++}`, nextOpId: () => `${actor}:${ops++}` };
}
