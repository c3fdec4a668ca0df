/**
 * Storage as it travels (protocol §5.1–5.2, 5.7): ops, nodes, text, and the check of all that a client sends.
 *
 * Knows nothing of a room's state: whether an op has an effect is decided in `room/storage`.
 */
import Type, { type Static, type TProperties, type TSchema } from 'typebox';
import { Compile } from 'typebox/compile';
import { AppError } from '../base/errors.ts';
import { isForbiddenKey, isJsonObject, type Json, type JsonObject } from '../base/json.ts';
import { problemWith } from '../base/misfit.ts';
import {
  inside,
  membersProblem,
  textDataProblem,
  VALUE_CHARACTERS_MAX,
  type ValueProblem,
  valueProblem,
} from './storage-values.ts';

/** Kinds of nodes. */
export const CRDT = { OBJECT: 0, LIST: 1, MAP: 2, REGISTER: 3, TEXT: 4, FILE: 5 } as const;

/** Codes of ops. UNKNOWN stands for every code that this build does not know, UNFIT for what may not be stored; clients never send either. */
export const OP = {
  UNFIT: -1,
  UNKNOWN: 0,
  SET_PARENT_KEY: 1,
  CREATE_LIST: 2,
  UPDATE_OBJECT: 3,
  CREATE_OBJECT: 4,
  DELETE_CRDT: 5,
  DELETE_OBJECT_KEY: 6,
  CREATE_MAP: 7,
  CREATE_REGISTER: 8,
  CREATE_TEXT: 9,
  UPDATE_TEXT: 10,
  CREATE_FILE: 11,
} as const;

export const ROOT_ID = 'root';

const AnyJson = Type.Unsafe<Json>(Type.Unknown());
const AnyObject = Type.Unsafe<JsonObject>(Type.Object({}));
/** `<actor>:<n>`. Nothing else may become an id: a node called ACK would be deleted by every ignored ack (protocol 5.4). */
const NewId = Type.String({ pattern: '^\\d{1,15}:\\d{1,15}$' });
const newId = Compile(NewId);
const AnyId = Type.String({ pattern: '^(?:root|\\d{1,15}:\\d{1,15})$' });
const Count = Type.Integer({ minimum: 0, maximum: Number.MAX_SAFE_INTEGER });

/** Made by whoever uploads a file. */
export const FILE_ID_PATTERN = '^fl_[A-Za-z0-9_-]{21}$';
/** Longest texts in a file's metadata. */
export const FILE_LENGTHS = { name: 1_024, mimeType: 256 } as const;

export const FileData = Type.Object(
  {
    id: Type.String({ pattern: FILE_ID_PATTERN }),
    name: Type.String({ maxLength: FILE_LENGTHS.name }),
    size: Count,
    mimeType: Type.String({ maxLength: FILE_LENGTHS.mimeType }),
  },
  { additionalProperties: false },
);
export type FileData = Static<typeof FileData>;

/** A run of text and the attributes it carries, if any. */
export type TextSegment = readonly [text: string] | readonly [text: string, attributes: JsonObject];
export type LiveTextData = readonly TextSegment[];
const LiveTextData = Type.Unsafe<LiveTextData>(
  Type.Array(Type.Union([Type.Tuple([Type.String()]), Type.Tuple([Type.String(), AnyObject])])),
);

/** Offsets and lengths are UTF-16 code units; a null attribute in `format` removes it. */
const TextOperation = Type.Union([
  Type.Object({ type: Type.Literal('insert'), index: Count, text: Type.String(), attributes: Type.Optional(AnyObject) }),
  Type.Object({ type: Type.Literal('delete'), index: Count, length: Count }),
  Type.Object({ type: Type.Literal('format'), index: Count, length: Count, attributes: AnyObject }),
]);
export type TextOperation = Static<typeof TextOperation>;
const TextOperations = Type.Unsafe<readonly TextOperation[]>(Type.Array(TextOperation));

/** What all ops share. An op with an opId is its sender's own; to everybody else it goes without (protocol 5.4). */
function op<const Code extends number, Fields extends TProperties>(type: Code, fields: Fields) {
  return Type.Object({ type: Type.Literal(type), opId: Type.Optional(NewId), ...fields });
}

function createOp<const Code extends number, Fields extends TProperties>(type: Code, fields: Fields) {
  const intent = Type.Optional(Type.Union([Type.Literal('set'), Type.Literal('push')]));
  return op(type, { id: NewId, parentId: AnyId, parentKey: Type.String(), intent, deletedId: Type.Optional(NewId), ...fields });
}

const CreateList = createOp(OP.CREATE_LIST, {});
const CreateMap = createOp(OP.CREATE_MAP, {});
const CreateObject = createOp(OP.CREATE_OBJECT, { data: AnyObject });
const CreateRegister = createOp(OP.CREATE_REGISTER, { data: AnyJson });
/** More edits than a text ever has; from one near the end of safe integers the next could not count on. */
const TextVersion = Type.Integer({ minimum: 0, maximum: 2 ** 31 - 1 });
const CreateText = createOp(OP.CREATE_TEXT, { data: LiveTextData, version: TextVersion });
const CreateFile = createOp(OP.CREATE_FILE, { data: FileData });
const SetParentKey = op(OP.SET_PARENT_KEY, { id: AnyId, parentKey: Type.String() });
const UpdateObject = op(OP.UPDATE_OBJECT, { id: AnyId, data: AnyObject });
const DeleteCrdt = op(OP.DELETE_CRDT, { id: AnyId });
const DeleteObjectKey = op(OP.DELETE_OBJECT_KEY, { id: AnyId, key: Type.String() });
/** `version` is set by us: the version of the text once the op is applied. */
const UpdateText = op(OP.UPDATE_TEXT, { id: AnyId, baseVersion: Count, version: Type.Optional(Count), ops: TextOperations });

const KNOWN = [
  CreateList,
  CreateMap,
  CreateObject,
  CreateRegister,
  CreateText,
  CreateFile,
  SetParentKey,
  UpdateObject,
  DeleteCrdt,
  DeleteObjectKey,
  UpdateText,
] as const;

export type CreateTextOp = Static<typeof CreateText>;
export type CreateOp =
  | Static<typeof CreateList>
  | Static<typeof CreateMap>
  | Static<typeof CreateObject>
  | Static<typeof CreateRegister>
  | CreateTextOp
  | Static<typeof CreateFile>;
export type SetParentKeyOp = Static<typeof SetParentKey>;
export type UpdateObjectOp = Static<typeof UpdateObject>;
export type DeleteCrdtOp = Static<typeof DeleteCrdt>;
export type DeleteObjectKeyOp = Static<typeof DeleteObjectKey>;
export type UpdateTextOp = Static<typeof UpdateText>;
/** Of an op whose code we do not know only the id is kept, to acknowledge it. */
export interface UnknownOp {
  readonly type: typeof OP.UNKNOWN;
  readonly opId?: string;
}

/** An op whose keys or values may not be stored. It stays in its place among the others, so that its sender hears of each in turn. */
export interface UnfitOp {
  readonly type: typeof OP.UNFIT;
  readonly opId: string;
  /** Without its values: what makes its sender take it back. */
  readonly emptied: FitOp;
  readonly problem: ValueProblem;
}

type FitOp = CreateOp | SetParentKeyOp | UpdateObjectOp | DeleteCrdtOp | DeleteObjectKeyOp | UpdateTextOp | UnknownOp;
export type Op = FitOp | UnfitOp;

/** Ops, and their JSON where it is at hand. */
export interface OpsText {
  readonly ops: readonly Op[];
  readonly json?: string;
}

/** A node as it stands in a snapshot for clients (protocol 4.4). */
export type CompactNode =
  | readonly [id: typeof ROOT_ID, data: JsonObject]
  | readonly [id: string, type: typeof CRDT.OBJECT, parentId: string, parentKey: string, data: JsonObject]
  | readonly [id: string, type: typeof CRDT.LIST, parentId: string, parentKey: string]
  | readonly [id: string, type: typeof CRDT.MAP, parentId: string, parentKey: string]
  | readonly [id: string, type: typeof CRDT.REGISTER, parentId: string, parentKey: string, data: Json]
  | readonly [id: string, type: typeof CRDT.TEXT, parentId: string, parentKey: string, data: LiveTextData, version: number]
  | readonly [id: string, type: typeof CRDT.FILE, parentId: string, parentKey: string, data: FileData];

interface Child {
  readonly parentId: string;
  readonly parentKey: string;
}

/** The full form of a node (protocol 5.1); only the root has no parent. */
export type SerializedCrdt =
  | { readonly type: typeof CRDT.OBJECT; readonly data: JsonObject }
  | (Child & { readonly type: typeof CRDT.OBJECT; readonly data: JsonObject })
  | (Child & { readonly type: typeof CRDT.LIST })
  | (Child & { readonly type: typeof CRDT.MAP })
  | (Child & { readonly type: typeof CRDT.REGISTER; readonly data: Json })
  | (Child & { readonly type: typeof CRDT.TEXT; readonly data: LiveTextData; readonly version: number })
  | (Child & { readonly type: typeof CRDT.FILE; readonly data: FileData });

const CHECKS = new Map<number, { readonly shape: TSchema; readonly compiled: ReturnType<typeof Compile> }>(
  KNOWN.map((shape) => [shape.properties.type.const, { shape, compiled: Compile(shape) }]),
);

/** What is wrong with an op as a whole, fields that we do not know included; null when nothing is. */
type FlawIn = (op: JsonObject) => string | null;

/**
 * The ops of one message, each with its opId. Fields that we do not know travel along, for newer clients.
 * @throws AppError FRAME_INVALID naming what is no op, and the reason
 */
export function checkOps(value: unknown, flawIn: FlawIn = () => null): Op[] {
  if (!Array.isArray(value)) throw new AppError('FRAME_INVALID', { reason: 'ops is not an array' });
  return value.map((op, at) => checkOp(op, at, flawIn));
}

function checkOp(value: unknown, at: number, flawIn: FlawIn): Op {
  if (!isJsonObject(value) || typeof value.type !== 'number') throw refusal(at, '', 'is not an object with a number as type');
  const check = CHECKS.get(value.type);
  if (check === undefined) return newId.Check(value.opId) ? { type: OP.UNKNOWN, opId: value.opId } : { type: OP.UNKNOWN };
  if (!check.compiled.Check(value)) {
    const { pointer, reason } = problemWith(check.shape, value);
    throw refusal(at, pointer, reason);
  }
  const { opId } = value;
  if (typeof opId !== 'string') throw refusal(at, '/opId', 'is missing');
  const checked = value as FitOp;
  const problem = problemOf(checked) ?? problemOfAll(flawIn(value));
  return problem === null ? checked : { type: OP.UNFIT, opId, emptied: emptied(checked), problem };
}

function problemOfAll(flaw: string | null): ValueProblem | null {
  return flaw === null ? null : { pointer: '', reason: `is not taken: ${flaw}` };
}

/** The op as far as its sender needs it, to let go of what it changed by it (protocol 5.4). */
function emptied(op: FitOp): FitOp {
  switch (op.type) {
    case OP.UPDATE_OBJECT:
      return { ...bare(op), data: Object.fromEntries(Object.keys(op.data).map((key) => [key, null])) };
    case OP.CREATE_OBJECT:
      return { ...bare(op), ...placed(op), data: {} };
    case OP.CREATE_REGISTER:
      return { ...bare(op), ...placed(op), data: null };
    case OP.CREATE_TEXT:
      return { ...bare(op), ...placed(op), data: [], version: op.version };
    case OP.CREATE_FILE:
      return { ...bare(op), ...placed(op), data: op.data };
    case OP.CREATE_LIST:
    case OP.CREATE_MAP:
      return { ...bare(op), ...placed(op) };
    case OP.SET_PARENT_KEY:
      return { ...bare(op), parentKey: op.parentKey };
    case OP.DELETE_OBJECT_KEY:
      return { ...bare(op), key: op.key };
    case OP.UPDATE_TEXT:
      return { ...bare(op), baseVersion: op.baseVersion, ops: [] };
    case OP.DELETE_CRDT:
      return bare(op);
    case OP.UNKNOWN:
      return op;
    default:
      return op satisfies never;
  }
}

function bare<Kind extends Exclude<FitOp, UnknownOp>>({ type, opId, id }: Kind): Pick<Kind, 'type' | 'opId' | 'id'> {
  return { type, opId, id } as Pick<Kind, 'type' | 'opId' | 'id'>;
}

function placed({ parentId, parentKey }: CreateOp): Pick<CreateOp, 'parentId' | 'parentKey'> {
  return { parentId, parentKey };
}

function refusal(at: number, pointer: string, reason: string): AppError {
  return new AppError('FRAME_INVALID', { reason: `op ${at}${pointer} ${reason}` });
}

/**
 * What the shapes cannot say: how large values are, and that no key reaches a prototype. Goes by the kind of the op: what else a client writes into it, under
 * whatever name, is no key.
 */
function problemOf(checked: FitOp): ValueProblem | null {
  switch (checked.type) {
    case OP.UPDATE_OBJECT:
      return inside('/data', membersProblem(checked.data));
    case OP.CREATE_OBJECT:
      return inside('/data', membersProblem(checked.data)) ?? problemOfKey(checked.parentKey, '/parentKey');
    case OP.CREATE_REGISTER:
      return inside('/data', valueProblem(checked.data)) ?? problemOfKey(checked.parentKey, '/parentKey');
    case OP.CREATE_TEXT:
      return inside('/data', textDataProblem(checked.data)) ?? problemOfKey(checked.parentKey, '/parentKey');
    case OP.UPDATE_TEXT:
      return inside('/ops', textOperationsProblem(checked.ops));
    case OP.DELETE_OBJECT_KEY:
      return problemOfKey(checked.key, '/key');
    case OP.CREATE_LIST:
    case OP.CREATE_MAP:
    case OP.CREATE_FILE:
    case OP.SET_PARENT_KEY:
      return problemOfKey(checked.parentKey, '/parentKey');
    case OP.DELETE_CRDT:
    case OP.UNKNOWN:
      return null;
    default:
      return checked satisfies never;
  }
}

function problemOfKey(key: string, pointer: string): ValueProblem | null {
  if (key.length > VALUE_CHARACTERS_MAX)
    return { pointer, reason: `names a key of more than ${VALUE_CHARACTERS_MAX} characters` };
  return isForbiddenKey(key) ? { pointer, reason: `names the key "${key}", which is not allowed` } : null;
}

function textOperationsProblem(operations: readonly TextOperation[]): ValueProblem | null {
  for (const [at, operation] of operations.entries()) {
    const problem = operation.type === 'delete' || operation.attributes === undefined ? null : valueProblem(operation.attributes);
    if (problem !== null) return inside(`/${at}/attributes`, problem);
  }
  return null;
}
