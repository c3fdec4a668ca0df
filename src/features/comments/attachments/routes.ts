/**
 * The endpoints of attachments, for back ends (supplement 2.4) and for clients (protocol 7.2). Their upload is that of everything that is uploaded;
 * whose an attachment is, and who may read it, is said here.
 */
import { isoFromMs } from '../../../base/clock.ts';
import { AppError } from '../../../base/errors.ts';
import type { RoomId } from '../../../base/ids.ts';
import type { Blobs } from '../../../kernel/persistence/blobs.ts';
import { addressOf, type KeepDeps, type UploadTarget } from '../../../kernel/persistence/kept-uploads.ts';
import type { Sql } from '../../../kernel/persistence/sql.ts';
import { elsewhereQuery } from '../../../kernel/persistence/upload-queries.ts';
import { URL_VALID_MS } from '../../../kernel/persistence/upload-rules.ts';
import type { Principal } from '../../../kernel/transport/principal.ts';
import { type BoundRoute, bindRoute, routeFor } from '../../../kernel/transport/route.ts';
import { type UploadDoor, type UploadRequest, uploadRoutes } from '../../../kernel/transport/upload-routes.ts';
import { checkName, checkRoomId, NAME_LENGTHS } from '../../../protocol/names.ts';
import type { Permissions } from '../../../protocol/permissions.ts';
import { attachmentOf, findAttachment, findCompleted, findReadable, makeAttachment, type StoredAttachment } from './queries.ts';
import { isAttachmentId, noSuchAttachment, readableWith } from './rules.ts';
import {
  ATTACHMENT_PARAMS,
  AttachmentParams,
  AttachmentReply,
  LocatedAttachment,
  RoomParams,
  UPLOADER_QUERY,
  UrlsBody,
  UrlsReply,
} from './shapes.ts';

/** `bytesMax`: largest attachment (setting MAX_FILE_BYTES). */
export interface AttachmentsDeps extends KeepDeps {
  readonly blobs: KeepDeps['blobs'] & Pick<Blobs, 'presign'>;
  nowMs(): number;
  /** @throws AppError UNAUTHORIZED_ROOM_ACCESS for who is nobody */
  userIdOf(principal: Principal): string;
  permissionsIn(principal: Principal, roomId: RoomId): Promise<Permissions>;
}

const route = routeFor<AttachmentsDeps>();
const tag = 'Comments';

type At = Pick<UploadDoor<StoredAttachment>, 'base' | 'needs' | 'query'>;

/** The same five for those with the secret key and for those with a token; `userIdOf` says for whom they upload, if that is said. */
const doorAt = (at: At, before: string, userIdOf: (request: UploadRequest) => string | null): UploadDoor<StoredAttachment> => ({
  ...at,
  tag,
  params: ATTACHMENT_PARAMS,
  words: { before, what: 'an attachment of a comment' },
  reply: { schema: AttachmentReply, idKey: 'attachmentId', of: attachmentOf },
  target(request, { db }) {
    const { roomId, attachmentId } = request.params as Record<'roomId' | 'attachmentId', string>;
    return attachmentTarget({ roomId, attachmentId, userId: userIdOf(request) }, db);
  },
  async elsewhere(place, { db }) {
    const rows = await db.query(elsewhereQuery(place));
    return rows.length === 0
      ? null
      : new AppError('RESOURCE_ALREADY_EXISTS', { kind: 'upload', id: place.id, is: 'belongs to another room' });
  },
});
const BACK_END = '/v2/rooms/:roomId/attachments';
const CLIENTS = '/v2/c/rooms/:roomId/attachments';

interface Uploading {
  readonly roomId: string;
  readonly attachmentId: string;
  /** Null where a back end does not say it yet: at the beginning, and with parts. */
  readonly userId: string | null;
}

/** @throws AppError ROOM_NOT_FOUND */
async function attachmentTarget({ userId, ...named }: Uploading, db: Sql): Promise<UploadTarget<StoredAttachment>> {
  const at = { ...named, roomId: checkRoomId(named.roomId, 'roomId') };
  const { roomPk } = await findAttachment(db, at);
  return {
    kind: 'attachment',
    id: at.attachmentId,
    stream: roomPk,
    by: userId,
    keysUnder: 'v1/attachments',
    find: async (now) => (await findAttachment(now, at)).attachment,
    make: (now, blob, from) => makeAttachment(now, { roomPk, userId: userId!, blob, from }), // whoever makes one has said for whom
    findCompleted: (now, from) => findCompleted(now, { roomPk, attachmentId: at.attachmentId, ...from }),
    isOwn: (row) => row.userId === userId,
  };
}

const getAttachmentRoute = route({
  method: 'GET',
  path: `${BACK_END}/:attachmentId`,
  needs: 'secret',
  tag,
  summary: 'Get what an attachment is, and an address to download it from for an hour',
  params: AttachmentParams,
  reply: LocatedAttachment,
  refuses: ['ROOM_NOT_FOUND', 'RESOURCE_NOT_FOUND'],
  async handle({ params }, deps) {
    const { attachmentId } = params;
    const roomId = checkRoomId(params.roomId, 'roomId');
    const known = isAttachmentId(attachmentId) ? attachmentId : ''; // no other is in the database, nor may every text be asked for
    const { attachment } = await findAttachment(deps.db, { roomId, attachmentId: known });
    if (attachment === null) throw noSuchAttachment(attachmentId);
    const expiresAt = isoFromMs(deps.nowMs() + URL_VALID_MS);
    return { ...attachmentOf(attachment), url: await addressOf(attachment, deps), expiresAt };
  },
});

/** Whoever may read a thread may read what its comments show; a draft is for who uploaded it. */
const urlsRoute = route({
  method: 'POST',
  path: `${CLIENTS}/presigned-urls`,
  needs: 'comments:read',
  tag,
  summary: 'For the SDK: addresses to download attachments from for an hour',
  params: RoomParams,
  body: UrlsBody,
  reply: UrlsReply,
  refuses: ['ROOM_NOT_FOUND'],
  async handle({ params, body, principal }, deps) {
    const roomId = checkRoomId(params.roomId, 'roomId');
    const visibilities = readableWith(await deps.permissionsIn(principal, roomId));
    const userId = principal.kind === 'user' ? deps.userIdOf(principal) : null;
    const attachmentIds = body.attachmentIds.filter(isAttachmentId);
    const found = await findReadable(deps.db, { roomId, attachmentIds, userId, visibilities });
    const expiresAt = isoFromMs(deps.nowMs() + URL_VALID_MS);
    const urls = body.attachmentIds.map(async (id) => {
      const attachment = found.get(id);
      return attachment === undefined ? null : addressOf(attachment, deps);
    });
    return { urls: await Promise.all(urls), expiresAt };
  },
});

export function attachmentRoutes(deps: AttachmentsDeps): BoundRoute[] {
  const backEnd = doorAt({ base: `${BACK_END}/:attachmentId`, needs: 'secret', query: UPLOADER_QUERY }, '', ({ query }) =>
    query.userId === undefined ? null : checkName(query.userId, 'userId', NAME_LENGTHS.userId),
  );
  const clients = doorAt(
    { base: `${CLIENTS}/:attachmentId`, needs: 'comments:write', query: {} },
    'For the SDK: ',
    ({ principal }) => deps.userIdOf(principal),
  );
  return [
    bindRoute(getAttachmentRoute, deps),
    ...uploadRoutes(backEnd, deps),
    ...uploadRoutes(clients, deps),
    bindRoute(urlsRoute, deps),
  ];
}
