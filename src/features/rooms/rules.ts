/**
 * What a room may be, and what a list of rooms is asked for. Pure: it knows neither tables nor routes.
 */
import { isoFromMs, msFromIso } from '../../base/clock.ts';
import { valueAtKey } from '../../base/errors.ts';
import { type Clause, parseQuery, type QueryFields } from '../../base/query/parser.ts';
import { isStorableText } from '../../base/text.ts';
import { outboxRowsOf } from '../../protocol/app-events.ts';
import { checkTexts, entriesAfter, type Texts } from '../../protocol/entries.ts';
import { checkName, DEFAULT_ORGANIZATION, NAME_LENGTHS } from '../../protocol/names.ts';
import { hashOfAsked } from '../../protocol/paging.ts';
import { checkScopes } from '../../protocol/permissions.ts';
import { ListQuery, type RoomCreation, type RoomFields, type RoomUpdate, type RoomUpsert } from './shapes.ts';

/** Bounds of what a room carries (contract, Limits; the bound of an array is ours). Counted after a change, so a change may also shrink. */
export const ROOM_LIMITS = {
  metadataMax: 50,
  metadataKeyLengthMax: 40,
  metadataValueLengthMax: 256,
  metadataItemsMax: 100,
  accessesMax: 1_000,
  accessIdLengthMax: 256,
} as const;

const BLANK: RoomFields = { metadata: {}, defaultAccesses: [], usersAccesses: {}, groupsAccesses: {} };

export interface NewRoomFields extends RoomFields {
  readonly organizationId: string;
}

/** Rows for the outbox; whoever makes the room puts its `roomPk` into their payloads. */
export function eventsOfNew({ id, nowIso }: { readonly id: string; readonly nowIso: string }): ReturnType<typeof outboxRowsOf> {
  return outboxRowsOf({ type: 'room.created', roomId: id, roomPk: 0, at: nowIso });
}

/** The fields of a room to be made. @throws AppError UNPROCESSABLE_ENTITY naming the key, `within` before it. */
export function fieldsOfNew(creation: RoomCreation, within = ''): NewRoomFields {
  const { defaultAccesses, metadata = {}, usersAccesses = {}, groupsAccesses = {} } = creation;
  const key = organizationKeyIn(creation, within);
  return {
    organizationId: checkName(creation[key] ?? DEFAULT_ORGANIZATION, `${within}${key}`, NAME_LENGTHS.organizationId),
    ...fieldsAfter(BLANK, { defaultAccesses, metadata, usersAccesses, groupsAccesses }, within),
  };
}

/** Under which of its two names the organisation is given. @throws AppError UNPROCESSABLE_ENTITY when it is under both */
function organizationKeyIn(
  { organizationId, tenantId }: { readonly organizationId?: unknown; readonly tenantId?: unknown },
  within = '',
): 'organizationId' | 'tenantId' {
  if (tenantId === undefined) return 'organizationId';
  if (organizationId === undefined) return 'tenantId';
  throw valueAtKey(`${within}tenantId`, 'is the older name of organizationId; give one of the two');
}

/**
 * The fields of a room after an update: null removes, what is not named stays (contract, Rooms rule 3; supplement 7, rows 27–33).
 * @throws AppError UNPROCESSABLE_ENTITY naming the key, `within` before it; the limits count what would be there afterwards.
 */
export function fieldsAfter(room: RoomFields, update: RoomUpdate, within = ''): RoomFields {
  const { defaultAccesses } = update;
  const { metadataMax, metadataKeyLengthMax, accessesMax, accessIdLengthMax } = ROOM_LIMITS;
  const accesses = { entriesMax: accessesMax, nameLengthMax: accessIdLengthMax, check: checkScopeSet };
  return {
    defaultAccesses:
      defaultAccesses === undefined ? room.defaultAccesses : checkScopeSet(defaultAccesses ?? [], `${within}defaultAccesses`),
    metadata: entriesAfter(room.metadata, update.metadata, {
      key: `${within}metadata`,
      entriesMax: metadataMax,
      nameLengthMax: metadataKeyLengthMax,
      check: checkMetadataValue,
    }),
    usersAccesses: entriesAfter(room.usersAccesses, update.usersAccesses, { key: `${within}usersAccesses`, ...accesses }),
    groupsAccesses: entriesAfter(room.groupsAccesses, update.groupsAccesses, { key: `${within}groupsAccesses`, ...accesses }),
  };
}

/**
 * The room an upsert makes when there is none: `create`, and `update` on top of it (supplement 1.2). Null when neither gives default accesses, which
 * then only an existing room has.
 */
export function newRoomOfUpsert({ update, create }: RoomUpsert): NewRoomFields | null {
  if ((create?.defaultAccesses ?? update.defaultAccesses ?? null) === null) return null;
  const room = created(create);
  return { ...room, ...fieldsAfter(room, update, 'update.') };
}

/** Refuses what no room could take in either part. What both come to together counts only where there is no room yet. */
export function checkUpsert({ update, create }: RoomUpsert): void {
  created(create);
  fieldsAfter(BLANK, update, 'update.');
}

function created(create: RoomUpsert['create']): NewRoomFields {
  return fieldsOfNew({ ...create, defaultAccesses: create?.defaultAccesses ?? [] }, 'create.');
}

/** Refuses what no room could take, before anybody looks for the room: of two errors the caller hears of the body first (supplement 7). */
export function checkUpdate(update: RoomUpdate): void {
  fieldsAfter(BLANK, update);
}

/** Whether an update says anything about who may enter, so that those inside must be looked at again. */
export function touchesAccesses(update: RoomUpdate): boolean {
  return update.defaultAccesses !== undefined || update.usersAccesses !== undefined || update.groupsAccesses !== undefined;
}

const ROOM_QUERY_FIELDS = {
  roomId: { form: 'plain', operators: { '^': ['string'], ':': ['string'] } },
  metadata: { form: 'keyed', operators: { ':': ['string'], '^': ['string'] } },
} as const satisfies QueryFields;

/** What a list of rooms is asked for. Null asks nothing; an empty string or list is asked for, and found nowhere. */
export interface RoomFilter {
  readonly organizationId: string | null;
  /** A user and groups are alternatives to each other; all else must hold together (contract, Rooms rule 2). */
  readonly userId: string | null;
  readonly groupIds: readonly string[] | null;
  readonly clauses: readonly RoomClause[];
}
export type RoomClause = Pick<Clause<typeof ROOM_QUERY_FIELDS>, 'field' | 'key' | 'operator' | 'value'>;

/** `metadata.KEY=value`, the spelling of the older listing. */
const METADATA_PARAMETER = 'metadata.';

/** @throws AppError UNPROCESSABLE_ENTITY naming the parameter, and the column for `query`. */
export function filterOf(parameters: Readonly<Record<string, unknown>>): RoomFilter {
  const text = (key: string) => (parameters[key] === undefined ? null : checkText(parameters[key], key));
  const others = Object.keys(parameters).filter((key) => !Object.hasOwn(ListQuery.properties, key));
  const unknown = others.find((key) => !key.startsWith(METADATA_PARAMETER));
  if (unknown !== undefined) throw valueAtKey(unknown, 'is not known here');
  return {
    organizationId: text(organizationKeyIn(parameters)),
    userId: text('userId'),
    groupIds:
      text('groupIds')
        ?.split(',')
        .filter((id) => id !== '') ?? null,
    clauses: [
      ...parseQuery(text('query') ?? '', ROOM_QUERY_FIELDS).map(({ field, key, operator, value }) => ({
        field,
        key,
        operator,
        value,
      })),
      ...others.map((parameter) => olderClause(parameter, checkText(parameters[parameter], parameter))),
    ],
  };
}

/** Where a page ended: its last room. */
export interface Position {
  readonly createdAt: string;
  readonly pk: number;
}

/** Cursors hold a hash of the filter, so that one is not used on another list (supplement 4.4 row 14). */
export function cursorAfter({ createdAt, pk }: Position, filter: RoomFilter): string {
  return Buffer.from(JSON.stringify([createdAt, pk, hashOf(filter)])).toString('base64url');
}

/** Where the next page is, as the older listing says it: a path, with all that was asked for. */
export function pathOfPage(parameters: Readonly<Record<string, unknown>>, cursor: string): string {
  const query = new URLSearchParams();
  for (const [name, value] of Object.entries({ ...parameters, startingAfter: cursor })) query.set(name, String(value));
  return `/v2/rooms?${query}`;
}

/** @throws AppError UNPROCESSABLE_ENTITY naming `startingAfter`. */
export function positionAt(cursor: string, filter: RoomFilter): Position {
  const [createdAt, pk, hash] = cursorParts(cursor);
  if (typeof createdAt !== 'string' || !isTimeOfRow(createdAt) || !Number.isSafeInteger(pk)) throw noCursor();
  if (hash !== hashOf(filter)) throw valueAtKey('startingAfter', 'is a cursor of a list with other filters');
  return { createdAt, pk: Number(pk) };
}

/** As the database writes it, and reads it. */
function isTimeOfRow(text: string): boolean {
  const ms = msFromIso(text);
  return ms !== null && ms >= 0 && isoFromMs(ms) === text;
}

function checkScopeSet(value: string[], key: string): string[] {
  return checkScopes(value, key, 'set');
}

function checkMetadataValue(value: Texts, key: string): Texts {
  const { metadataValueLengthMax: lengthMax, metadataItemsMax: itemsMax } = ROOM_LIMITS;
  return checkTexts(value, key, { lengthMax, itemsMax });
}

function checkText(value: unknown, key: string): string {
  if (typeof value !== 'string') throw valueAtKey(key, 'must be given once');
  if (!isStorableText(value)) throw valueAtKey(key, 'may not hold U+0000 or half of a surrogate pair');
  return value;
}

function olderClause(parameter: string, value: string): RoomClause {
  const key = checkName(parameter.slice(METADATA_PARAMETER.length), parameter, ROOM_LIMITS.metadataKeyLengthMax);
  return { field: 'metadata', key, operator: ':', value };
}

function cursorParts(cursor: string): unknown[] {
  try {
    const parts: unknown = JSON.parse(Buffer.from(cursor, 'base64url').toString());
    return Array.isArray(parts) ? parts : [];
  } catch {
    throw noCursor();
  }
}

function noCursor() {
  return valueAtKey('startingAfter', 'is not a cursor of this list');
}

function hashOf({ organizationId, userId, groupIds, clauses }: RoomFilter): string {
  return hashOfAsked([organizationId, userId, groupIds, clauses]);
}
