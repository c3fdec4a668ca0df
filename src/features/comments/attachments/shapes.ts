/** What of attachments travels over REST beyond their upload (supplement 1.7 and 2.4; protocol 7.2). */
import Type from 'typebox';
import { ATTACHMENT_ID_PATTERN } from '../../../protocol/comments.ts';
import { ROOM_ID_LIMITS } from '../../../protocol/names.ts';

const roomId = Type.String({ 'x-limits': ROOM_ID_LIMITS });
export const ATTACHMENT_PARAMS = {
  roomId,
  attachmentId: Type.String({ pattern: ATTACHMENT_ID_PATTERN, description: 'Made by the caller.' }),
};
export const RoomParams = Type.Object({ roomId });
export const AttachmentParams = Type.Object({ roomId, attachmentId: Type.String() });

/** A back end uploads for somebody: comments of this user may show the attachment. */
export const UPLOADER_QUERY = {
  userId: Type.String({ description: 'Who uploads it, as far as users are concerned.' }),
};

export const AttachmentReply = Type.Object(
  {
    type: Type.Literal('attachment'),
    id: Type.String(),
    name: Type.String(),
    size: Type.Integer({ description: 'In bytes.' }),
    mimeType: Type.String(),
  },
  { additionalProperties: false },
);
const expiresAt = Type.String({ description: 'When addresses end, an hour from now.' });
export const LocatedAttachment = Type.Object({
  ...AttachmentReply.properties,
  url: Type.String({ description: 'Downloads the attachment without credentials.' }),
  expiresAt,
});

/** The SDK asks for 50 at most. */
const ATTACHMENTS_AT_ONCE_MAX = 50;
export const UrlsBody = Type.Object(
  { attachmentIds: Type.Array(Type.String({ maxLength: 64 }), { maxItems: ATTACHMENTS_AT_ONCE_MAX }) },
  { additionalProperties: false },
);
export const UrlsReply = Type.Object({
  urls: Type.Array(Type.Union([Type.String(), Type.Null()]), {
    description: 'In the order of the ids: null where there is no such attachment, or none that the caller may read.',
  }),
  expiresAt,
});
