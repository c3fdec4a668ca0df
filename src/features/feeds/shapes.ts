/** Feeds as they go over the wire, and what makes and changes them (supplement 2.5). Sizes are checked in `rules.ts`. */
import Type from 'typebox';
import type { JsonObject } from '../../base/json.ts';
import { FEED_LIMITS, FeedMetadataValue } from '../../protocol/feeds.ts';
import { ROOM_ID_LIMITS } from '../../protocol/names.ts';

const { idLengthMax, metadataEntriesMax, metadataKeyLengthMax, dataBytesMax, pageMax, pageDefault } = FEED_LIMITS;
const NAME = { 'x-limits': { minLength: 1, maxLength: idLengthMax } };
const METADATA_LIMITS = {
  'x-limits': { maxProperties: metadataEntriesMax, propertyNames: { minLength: 1, maxLength: metadataKeyLengthMax } },
};
const Ms = Type.Integer({ description: 'Milliseconds since the epoch.' });

const Metadata = Type.Record(Type.String(), FeedMetadataValue, { description: 'Texts, and lists of texts.', ...METADATA_LIMITS });
const MetadataChanges = Type.Record(Type.String(), Type.Union([FeedMetadataValue, Type.Null()]), {
  description: 'A key set to null is removed; what is not named stays.',
  ...METADATA_LIMITS,
});
const Data = Type.Unsafe<JsonObject>(Type.Object({}, { description: `Any JSON object of at most ${dataBytesMax} bytes.` }));

export const FeedReply = Type.Object({ feedId: Type.String(), metadata: Metadata, createdAt: Ms, updatedAt: Ms });
export const MessageReply = Type.Object({ id: Type.String(), data: Data, createdAt: Ms, updatedAt: Ms });

const nextCursor = Type.Union([Type.String(), Type.Null()], { description: 'For `cursor`; null on the last page.' });
export const FeedPage = Type.Object({ nextCursor, data: Type.Array(FeedReply) });
export const MessagePage = Type.Object({ nextCursor, data: Type.Array(MessageReply) });

const roomId = Type.String({ 'x-limits': ROOM_ID_LIMITS });
export const RoomParams = Type.Object({ roomId });
export const FeedParams = Type.Object({ roomId, feedId: Type.String() });
export const MessageParams = Type.Object({ roomId, feedId: Type.String(), messageId: Type.String() });

const page = {
  cursor: Type.Optional(Type.String({ description: 'A `nextCursor` of the same list.' })),
  since: Type.Optional(Type.Integer({ description: 'Only what was made later, in milliseconds since the epoch.' })),
};
export const ListQuery = Type.Object({
  ...page,
  limit: Type.Integer({ minimum: 1, maximum: pageMax, default: pageDefault }),
});

/** Of a back end; kept by `checkTime`. */
const timestamp = Type.Optional(Type.Integer({ description: 'Milliseconds since the epoch; now when left out.' }));
const closed = { additionalProperties: false } as const;

export const NewFeedBody = Type.Object(
  { feedId: Type.String({ ...NAME, description: 'Of your choice.' }), metadata: Type.Optional(Metadata), timestamp },
  closed,
);
export const FeedChangesBody = Type.Object({ metadata: MetadataChanges }, closed);
export const NewMessageBody = Type.Object(
  { data: Data, id: Type.Optional(Type.String({ ...NAME, description: '`msg_…` when left out.' })), timestamp },
  closed,
);
export const MessageChangesBody = Type.Object(
  {
    data: Data,
    timestamp: Type.Optional(
      Type.Integer({
        description: 'Milliseconds since the epoch. If the message was changed later than that, it stays as it is.',
      }),
    ),
  },
  closed,
);

/** What an SDK client asks (its messages 510 to 517), without the type and the id of the request. */
const limit = Type.Optional(Type.Integer({ minimum: 1, maximum: pageMax }));
const feedId = Type.String(NAME);
const messageId = Type.String(NAME);
export const Asked = {
  feeds: Type.Object({ ...page, limit, metadata: Type.Optional(Type.Record(Type.String(), Type.String())) }),
  messages: Type.Object({ ...page, limit, feedId }),
  newFeed: Type.Object({ feedId, metadata: Type.Optional(Metadata), createdAt: Type.Optional(Ms) }),
  feedChanges: Type.Object({ feedId, metadata: MetadataChanges }),
  feed: Type.Object({ feedId }),
  newMessage: Type.Object({ feedId, data: Data, id: Type.Optional(messageId), createdAt: Type.Optional(Ms) }),
  messageChanges: Type.Object({ feedId, messageId, data: Data, updatedAt: Type.Optional(Ms) }),
  message: Type.Object({ feedId, messageId }),
} as const;
