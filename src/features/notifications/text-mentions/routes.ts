/** What editors of texts tell the server, and what they ask about addresses (protocol 7.2). */
import { isoFromMs } from '../../../base/clock.ts';
import { AppError } from '../../../base/errors.ts';
import type { Outbox } from '../../../kernel/persistence/outbox.ts';
import type { Sql } from '../../../kernel/persistence/sql.ts';
import type { Principal } from '../../../kernel/transport/principal.ts';
import { type BoundRoute, bindRoute, routeFor } from '../../../kernel/transport/route.ts';
import { type AppEvent, outboxRowsOf } from '../../../protocol/app-events.ts';
import { checkRoomId } from '../../../protocol/names.ts';
import type { Person } from '../../../protocol/person.ts';
import { holdRoom, type RoomOfInbox } from '../inbox/queries.ts';
import { mayRead } from '../of-comments/rules.ts';
import { addTextMention, deleteTextMention, findConcerned, type NewTextMention } from './queries.ts';
import { checkMentionId, mentionOf } from './rules.ts';
import { EditorBody, MentionBody, MentionParams, Nothing, RoomParams, UrlQuery, UrlReply } from './shapes.ts';

export interface TextMentionsDeps {
  readonly db: Sql;
  readonly outbox: Outbox;
  /** Of who set nothing for a room. */
  readonly byDefault: 'mine' | 'none';
  nowMs(): number;
  newNotificationId(): string;
  personOf(principal: Principal): Person;
}

const route = routeFor<TextMentionsDeps>();
const tag = 'Notifications';
const inRoom = { tag, params: RoomParams, reply: Nothing, refuses: ['ROOM_NOT_FOUND'] } as const;

export const addTextMentionRoute = route({
  ...inRoom,
  method: 'POST',
  path: '/v2/c/rooms/:roomId/text-mentions',
  needs: 'storage:write',
  summary: 'For the SDK: somebody is mentioned in a text, and is notified once',
  once: 'transaction',
  body: MentionBody,
  async handle({ params, principal, body, afterCommit }, deps) {
    const mention = mentionOf(body);
    const mentionId = checkMentionId(body.mentionId);
    const { userId: createdBy } = deps.personOf(principal);
    const nowIso = isoFromMs(deps.nowMs());
    await deps.db.transaction(async (tx) => {
      const room = await roomIn(params, tx);
      const { organizationId, pk: roomPk } = room;
      await notify(tx, room, { roomPk, organizationId, mentionId, createdBy, mention, nowIso }, deps);
    });
    afterCommit(() => deps.outbox.nudge());
    return {};
  },
});

export const deleteTextMentionRoute = route({
  ...inRoom,
  method: 'DELETE',
  path: '/v2/c/rooms/:roomId/text-mentions/:mentionId',
  needs: 'storage:write',
  summary: 'For the SDK: a mention was taken out of a text; its notifications go with it',
  once: 'transaction',
  params: MentionParams,
  async handle({ params }, { db }) {
    const mentionId = checkMentionId(params.mentionId);
    await db.transaction(async (tx) => deleteTextMention(tx, { roomPk: (await roomIn(params, tx)).pk, mentionId }));
    return {};
  },
});

export const reportEditorRoute = route({
  ...inRoom,
  method: 'POST',
  path: '/v2/c/rooms/:roomId/text-metadata',
  needs: 'storage:read',
  summary: 'For the SDK: which editor shows a text; taken, and not kept, for nothing asks for it',
  body: EditorBody,
  async handle({ params }, { db }) {
    await roomIn(params, db);
    return {};
  },
});

export const urlMetadataRoute = route({
  method: 'GET',
  path: '/v2/c/urls/metadata',
  needs: 'personal:read',
  tag,
  summary: 'For the SDK: what a page says of itself; always nothing, for this server fetches no address that a client names',
  query: UrlQuery,
  reply: UrlReply,
  handle({ principal }, { personOf }) {
    personOf(principal);
    return { metadata: {} };
  },
});

export function textMentionRoutes(deps: TextMentionsDeps): BoundRoute[] {
  return [
    bindRoute(addTextMentionRoute, deps),
    bindRoute(deleteTextMentionRoute, deps),
    bindRoute(reportEditorRoute, deps),
    bindRoute(urlMetadataRoute, deps),
  ];
}

async function roomIn({ roomId }: { readonly roomId: string }, tx: Sql): Promise<RoomOfInbox> {
  const checked = checkRoomId(roomId, 'roomId');
  const room = await holdRoom(tx, checked);
  if (room === null) throw new AppError('ROOM_NOT_FOUND', { roomId });
  return room;
}

/** Whoever wants to hear of it, and may read texts of the room as far as is known. */
async function notify(
  tx: Sql,
  { id: roomId, accesses }: RoomOfInbox,
  mention: NewTextMention,
  { newNotificationId, outbox, byDefault }: TextMentionsDeps,
): Promise<void> {
  const reading = (userId: string) => mayRead(accesses, { userId, resource: 'storage', shown: null });
  const concerned = await findConcerned(tx, mention);
  const users = concerned
    .filter(({ userId, textMentions }) => (textMentions ?? byDefault) !== 'none' && reading(userId) !== 'no')
    .map(({ userId }) => ({ id: newNotificationId(), userId }));
  const added = users.length === 0 ? [] : await addTextMention(tx, mention, users);
  const { mentionId, nowIso: at } = mention;
  const events = added
    .filter(({ userId }) => reading(userId) === 'yes')
    .map(({ id, userId }): AppEvent => {
      return { type: 'inbox.notified', notificationId: id, userId, kind: 'textMention', roomId, at, about: { mentionId } };
    });
  if (events.length > 0) await outbox.add(tx, ...events.flatMap(outboxRowsOf));
}
