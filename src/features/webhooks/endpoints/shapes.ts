/** Webhooks as back ends manage them (supplement 2.10). What an address and a header may be is checked in `rules.ts`. */
import Type, { type Static } from 'typebox';

/** What can be told (supplement 6.1). */
export const WEBHOOK_EVENTS = [
  'storageUpdated',
  'ydocUpdated',
  'userEntered',
  'userLeft',
  'roomCreated',
  'roomDeleted',
  'threadCreated',
  'threadDeleted',
  'threadMetadataUpdated',
  'threadMarkedAsResolved',
  'threadMarkedAsUnresolved',
  'commentCreated',
  'commentEdited',
  'commentDeleted',
  'commentMetadataUpdated',
  'commentReactionAdded',
  'commentReactionRemoved',
  'notification',
] as const;
export type WebhookEvent = (typeof WEBHOOK_EVENTS)[number];

const Event = Type.Unsafe<WebhookEvent>(Type.Union(WEBHOOK_EVENTS.map((event) => Type.Literal(event))));
const Events = Type.Array(Event, { minItems: 1, maxItems: WEBHOOK_EVENTS.length, uniqueItems: true });
const URL_LENGTH_MAX = 2_048;
const Url = Type.String({
  description: 'Where messages go: https, to a public address, unless a setting of the server says otherwise.',
  maxLength: URL_LENGTH_MAX,
});
const RateLimit = Type.Integer({ minimum: 1, maximum: 65_534, description: 'Messages per second at most.' });
const THROTTLE_SECONDS = 60;
const throttle = (what: string) =>
  Type.Integer({
    minimum: 1,
    maximum: 3_600,
    description: `${what} of a room are told once in so many seconds, ${THROTTLE_SECONDS} when left out.`,
  });
const StorageThrottle = throttle('Changes of the Storage');
const YdocThrottle = throttle('Changes of the Yjs documents');
export const THROTTLE_DEFAULT_SECONDS = THROTTLE_SECONDS;

const Headers = Type.Record(Type.String(), Type.String());
const closed = { additionalProperties: false } as const;

export const ProjectParams = Type.Object({
  projectId: Type.String({ description: 'Any: there is one project, that of the secret key.' }),
});
export const WebhookParams = Type.Object({ ...ProjectParams.properties, webhookId: Type.String({ description: '`wh_…`' }) });

export const ListQuery = Type.Object({
  limit: Type.Integer({ minimum: 1, maximum: 100, default: 20 }),
  cursor: Type.Optional(Type.String({ description: 'A `nextCursor` of the same list.' })),
});

export const CreateBody = Type.Object(
  {
    url: Url,
    subscribedEvents: Events,
    rateLimit: Type.Optional(RateLimit),
    additionalHeaders: Type.Optional(Headers),
    storageUpdatedThrottleSeconds: Type.Optional(StorageThrottle),
    yDocUpdatedThrottleSeconds: Type.Optional(YdocThrottle),
  },
  closed,
);
export type CreateBody = Static<typeof CreateBody>;

export const UpdateBody = Type.Object(
  {
    url: Type.Optional(Url),
    subscribedEvents: Type.Optional(Events),
    rateLimit: Type.Optional(RateLimit),
    storageUpdatedThrottleSeconds: Type.Optional(StorageThrottle),
    yDocUpdatedThrottleSeconds: Type.Optional(YdocThrottle),
    disabled: Type.Optional(Type.Boolean({ description: 'true ends all that waits; false begins anew.' })),
  },
  closed,
);
export type UpdateBody = Static<typeof UpdateBody>;

const time = Type.String({ format: 'date-time' });
const Secret = Type.Object({ value: Type.String({ description: '`whsec_…`' }) }, closed);

export const WebhookReply = Type.Object(
  {
    id: Type.String({ description: '`wh_…`' }),
    createdAt: time,
    updatedAt: time,
    url: Type.String(),
    disabled: Type.Boolean(),
    subscribedEvents: Type.Array(Event),
    secret: Type.Union([Secret, Type.Null()]),
    storageUpdatedThrottleSeconds: Type.Integer(),
    yDocUpdatedThrottleSeconds: Type.Integer(),
    rateLimit: Type.Optional(Type.Integer()),
    additionalHeaders: Type.Optional(Headers),
  },
  closed,
);
export type WebhookDocument = Static<typeof WebhookReply>;

export const WebhookPage = Type.Object(
  {
    nextCursor: Type.Union([Type.String(), Type.Null()], { description: 'For `cursor`; null on the last page.' }),
    data: Type.Array(WebhookReply),
  },
  closed,
);

export const RolledReply = Type.Object({ secret: Secret, message: Type.String() }, closed);

export const HeadersBody = Type.Object({ headers: Headers }, closed);
export const HeadersReply = Type.Object({ headers: Headers }, closed);
const HEADERS_MAX = 50;
export const DeleteHeadersBody = Type.Object(
  { headers: Type.Array(Type.String(), { minItems: 1, maxItems: HEADERS_MAX, description: 'Names.' }) },
  closed,
);

export const RecoverBody = Type.Object({ since: Type.String({ description: 'A time in ISO 8601.' }) }, closed);

export const TestBody = Type.Object({ subscribedEvent: Event }, closed);
export const TestReply = Type.Object(
  {
    message: Type.Object({
      id: Type.String({ description: '`msg_…`' }),
      deliveredAt: Type.Union([time, Type.Null()], { description: 'null when it was not taken; it is not sent again.' }),
    }),
  },
  closed,
);
