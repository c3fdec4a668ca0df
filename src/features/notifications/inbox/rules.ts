/** What may be asked of an inbox and put into it, and how a row of it is shown. Pure: it knows neither tables nor routes. */
import { AppError, valueAtKey } from '../../../base/errors.ts';
import { isForbiddenKey } from '../../../base/json.ts';
import { parseQuery, type QueryFields } from '../../../base/query/parser.ts';
import { isStorableText } from '../../../base/text.ts';
import type { Activity, ActivityData, InboxNotification, Mention, OlderInboxNotification } from '../../../protocol/inbox.ts';
import { checkName, checkRoomId, DEFAULT_ORGANIZATION, NAME_LENGTHS } from '../../../protocol/names.ts';
import type { Position } from '../../../protocol/paging.ts';
import { allows, type Permissions } from '../../../protocol/permissions.ts';
import type { Trigger } from './shapes.ts';

/** Bounds of what a back end may put into an inbox; but for the activities of a batch (supplement 1.7) they are ours. */
export const TRIGGER_LIMITS = {
  subjectIdLengthMax: 256,
  dataEntriesMax: 50,
  dataKeyLengthMax: 128,
  dataTextLengthMax: 4_000,
  activitiesMax: 50,
} as const;

const NOTIFICATION_ID = /^in_[\w-]{1,64}$/;

/** @throws AppError RESOURCE_NOT_FOUND: what is no id is the id of nothing. */
export function checkNotificationId(id: string): string {
  if (!NOTIFICATION_ID.test(id)) throw noNotification(id);
  return id;
}

export function noNotification(id: string): AppError {
  return new AppError('RESOURCE_NOT_FOUND', { kind: 'inbox notification', id });
}

/** Refuses what could not be stored, before anybody looks for the room. @throws AppError UNPROCESSABLE_ENTITY naming the key. */
export function checkTrigger({ userId, kind, subjectId, activityData, roomId, organizationId }: Trigger) {
  checkName(userId, 'userId', NAME_LENGTHS.userId);
  checkName(subjectId, 'subjectId', TRIGGER_LIMITS.subjectIdLengthMax);
  if (organizationId !== undefined) checkName(organizationId, 'organizationId', NAME_LENGTHS.organizationId);
  checkData(activityData);
  return {
    userId,
    kind,
    subjectId,
    data: activityData,
    roomId: roomId === undefined ? null : checkRoomId(roomId, 'roomId'),
    organizationId: organizationId ?? null,
  };
}

function checkData(data: ActivityData): void {
  const { dataEntriesMax, dataKeyLengthMax, dataTextLengthMax } = TRIGGER_LIMITS;
  const entries = Object.entries(data);
  if (entries.length > dataEntriesMax) throw valueAtKey('activityData', `may have at most ${dataEntriesMax} entries`);
  for (const [name, value] of entries) {
    const key = `activityData.${name}`;
    checkName(name, key, dataKeyLengthMax);
    if (typeof value !== 'string') continue;
    if (value.length > dataTextLengthMax) throw valueAtKey(key, `must have at most ${dataTextLengthMax} characters`);
    if (!isStorableText(value)) throw valueAtKey(key, 'may not hold U+0000 or half of a surrogate pair');
  }
}

/** The organisation of a custom notification: that of its room, else the one that is named, else the default. */
export function organizationOf(asked: string | null, room: { readonly organizationId: string } | null): string {
  return room?.organizationId ?? asked ?? DEFAULT_ORGANIZATION;
}

/** What a list is asked for; null asks nothing. */
export interface InboxFilter {
  readonly roomIds: readonly string[];
  readonly kinds: readonly string[];
  readonly unread: readonly boolean[];
}

const BACK_END_FIELDS = { unread: { form: 'plain', operators: { ':': ['boolean'] } } } as const satisfies QueryFields;
const CLIENT_FIELDS = {
  ...BACK_END_FIELDS,
  roomId: { form: 'plain', operators: { ':': ['string'] } },
  kind: { form: 'plain', operators: { ':': ['string'] } },
} as const satisfies QueryFields;

/** All clauses hold together, so two different ones of a field find nothing. @throws AppError UNPROCESSABLE_ENTITY naming `query`. */
export function filterOf(query: string | undefined, by: 'back end' | 'client'): InboxFilter {
  if (query !== undefined && !isStorableText(query)) throw valueAtKey('query', 'may not hold U+0000 or half of a surrogate pair');
  const clauses = parseQuery<QueryFields>(query ?? '', by === 'client' ? CLIENT_FIELDS : BACK_END_FIELDS);
  const valuesOf = (field: string) => clauses.filter((clause) => clause.field === field).map(({ value }) => value);
  return {
    roomIds: valuesOf('roomId').map(String),
    kinds: valuesOf('kind').map(String),
    unread: valuesOf('unread').map((value) => value === true),
  };
}

/** Which rooms' threads and texts somebody may read. What is not in them does not exist for them. */
export interface Readable {
  readonly publicIn: readonly number[];
  readonly privateIn: readonly number[];
  readonly textsIn: readonly number[];
}

export function readableOf(rooms: readonly { readonly pk: number; readonly permissions: Permissions }[]): Readable {
  const where = (resource: 'comments:public' | 'comments:private' | 'storage') =>
    rooms.filter(({ permissions }) => allows(permissions, resource, 'read')).map(({ pk }) => pk);
  return { publicIn: where('comments:public'), privateIn: where('comments:private'), textsIn: where('storage') };
}

/** A row of `inbox_notifications`; times are ISO strings. */
export interface InboxRow {
  readonly pk: number;
  readonly id: string;
  readonly userId: string;
  readonly kind: string;
  readonly roomId: string | null;
  readonly organizationId: string;
  readonly threadPk: number | null;
  readonly subjectId: string;
  readonly details: {
    readonly createdBy?: string;
    readonly mention?: Mention;
    readonly activities?: Activity[];
  };
  readonly notifiedAt: string;
  readonly readAt: string | null;
  readonly changedAt: string;
  /** What it takes in an answer together with its thread, roughly. */
  readonly answerBytes: number;
  /** Without its thread. */
  readonly ownBytes: number;
}

export function positionOf({ notifiedAt, pk }: InboxRow): Position {
  return { atMs: Date.parse(notifiedAt), pk };
}

export function documentOf({
  id,
  kind,
  roomId,
  organizationId,
  subjectId,
  details,
  notifiedAt,
  readAt,
}: InboxRow): InboxNotification {
  const facts = { id, notifiedAt, readAt };
  if (kind === 'thread') return { kind, ...facts, roomId: roomId!, threadId: subjectId, organizationId };
  if (kind !== 'textMention') return { kind, ...facts, subjectId, roomId, activities: details.activities! };
  return { kind, ...facts, roomId: roomId!, mentionId: subjectId, createdBy: details.createdBy!, mention: details.mention! };
}

/** As the older listing has it (contract, Inbox notification). */
export function olderDocumentOf(row: InboxRow): OlderInboxNotification {
  const document = documentOf(row);
  if (!('activities' in document)) return document;
  return { ...document, activityData: document.activities.at(-1)?.data ?? {} };
}

/** Ids that may name something; what could not be stored is the id of nothing. */
export function knowableIds(ids: readonly string[]): string[] {
  return [...new Set(ids)].filter((id) => NOTIFICATION_ID.test(id));
}

/** Groups that text mentions of a page name. */
export function groupsNamedIn(rows: readonly InboxRow[]): string[] {
  return [...new Set(rows.flatMap(({ details: { mention } }) => (mention?.kind === 'group' ? [mention.id] : [])))];
}

/** Whether an id that a client wrote into a text or comment can be that of a user at all. */
export function isUserId(id: string): boolean {
  return id.length >= 1 && id.length <= NAME_LENGTHS.userId && isStorableText(id) && !isForbiddenKey(id);
}
