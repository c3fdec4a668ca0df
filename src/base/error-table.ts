/**
 * Every way Atrium says no: code → HTTP status, socket close code, whether a retry may help, and the words. The sentence is made
 * here, once, from the facts of the refusal.
 *
 * Statuses and codes: contract "Errors", supplement 1.8 and 7. Close codes: protocol 3.4 (4000–4099 stop the
 * SDK for good, 41xx makes it authenticate again; after 42xx and 1013 it waits 2 s, then 30 s and more, which suits who asks too much of
 * us; after 1012 it is back within 10 s, which suits what is away for a moment).
 */
import { YJS_ERRORS } from './yjs-errors.ts';

export type Facts = Readonly<Record<string, unknown>>;

export interface ErrorEntry {
  /** HTTP status of the REST answer. */
  readonly status: number;
  /** Close code when the refusal ends a socket. */
  readonly close: number;
  /** Whether the same request may succeed later. */
  readonly retry: boolean;
  readonly message: (facts: Facts) => string;
  readonly suggestion: string;
}

export const ERRORS = {
  MISSING_SECRET_KEY: {
    status: 401,
    close: 4001,
    retry: false,
    message: () => 'The secret key is missing from the Authorization header.',
    suggestion: 'Send the header "Authorization: Bearer sk_…" with the secret key of this server.',
  },
  WRONG_KEY_USED: {
    status: 401,
    close: 4001,
    retry: false,
    message: () => 'A public key was used where the secret key is required.',
    suggestion: 'Use the key that starts with sk_; keep it on your own back end.',
  },
  INVALID_SECRET_KEY: {
    status: 403,
    close: 4001,
    retry: false,
    message: () => 'The secret key is not valid.',
    suggestion: 'Compare the key with the SECRET_KEY that the server was started with.',
  },
  INVALID_PUBLIC_KEY: {
    status: 403,
    close: 4001,
    retry: false,
    message: () => 'The public key is not valid.',
    suggestion: 'Compare the key with the PUBLIC_KEY that the server was started with.',
  },
  MISSING_TOKEN: {
    status: 401,
    close: 4001,
    retry: false,
    message: () => 'An access token, ID token or public key is missing.',
    suggestion: 'Obtain a token from POST /v2/authorize-user or /v2/identify-user, or give the public key.',
  },
  INVALID_TOKEN: {
    status: 401,
    close: 4001,
    retry: false,
    message: (facts) => `The token is not valid${facts.reason === undefined ? '' : `: ${facts.reason}`}.`,
    suggestion: 'Obtain a new token from POST /v2/authorize-user or /v2/identify-user; for /v1 from /api/authorize.',
  },
  TOKEN_EXPIRED: {
    status: 401,
    close: 4109,
    retry: true,
    message: () => 'The token has expired.',
    suggestion: 'Obtain a new token and connect again.',
  },
  UNAUTHORIZED_ROOM_ACCESS: {
    status: 403,
    close: 4001,
    retry: false,
    message: (facts) => {
      if (facts.reason !== undefined) return `${facts.reason}.`;
      return facts.need === undefined
        ? 'The user has no access to this room.'
        : `The user lacks the permission ${facts.need} on this room.`;
    },
    suggestion: 'Check the permissions in the token, or the accesses of the room.',
  },
  DOWNLOAD_REFUSED: {
    status: 403,
    close: 4001,
    retry: false,
    message: () => 'This download address has expired or was changed.',
    suggestion: 'Ask for the file again: the answer has a fresh address.',
  },
  NOT_FOUND: {
    status: 404,
    close: 4001,
    retry: false,
    message: (facts) => `There is no route ${facts.method} ${facts.path}.`,
    suggestion: 'See /openapi.json for all routes.',
  },
  ROOM_NOT_FOUND: {
    status: 404,
    close: 4001,
    retry: false,
    message: (facts) => `The room ${quote(facts.roomId)} does not exist.`,
    suggestion: 'Check the room ID; GET /v2/rooms lists the rooms.',
  },
  RESOURCE_NOT_FOUND: {
    status: 404,
    close: 4001,
    retry: false,
    message: (facts) => `The ${facts.kind} ${quote(facts.id)} does not exist.`,
    suggestion: 'Check the ID.',
  },
  METHOD_NOT_ALLOWED: {
    status: 405,
    close: 4001,
    retry: false,
    message: (facts) => `${facts.path} does not answer to ${facts.method}; it answers to ${facts.allow}.`,
    suggestion: 'See /openapi.json for all routes.',
  },
  ROOM_ALREADY_EXISTS: {
    status: 409,
    close: 4001,
    retry: false,
    message: (facts) => `The room ${quote(facts.roomId)} exists already.`,
    suggestion: 'Use another ID, update the room, or create it with ?idempotent.',
  },
  RESOURCE_ALREADY_EXISTS: {
    status: 409,
    close: 4001,
    retry: false,
    message: (facts) => `The ${facts.kind} ${quote(facts.id)} ${facts.is ?? 'exists already'}.`,
    suggestion: 'Use another ID.',
  },
  CANNOT_UPDATE_EXISTING_STORAGE: {
    status: 409,
    close: 4001,
    retry: false,
    message: (facts) => `The room ${quote(facts.roomId)} has Storage already.`,
    suggestion: 'Change it with PATCH …/storage/json-patch, or delete it first.',
  },
  PAYLOAD_TOO_LARGE: {
    status: 413,
    close: 4000, // after 1009 (RFC 6455, 7.4.1) a client comes back and says the same again, without end
    retry: false,
    message: (facts) => `${facts.what ?? 'The body'} is larger than ${facts.bytesMax} bytes.`,
    suggestion: 'Send less at once.',
  },
  RANGE_NOT_SATISFIABLE: {
    status: 416,
    close: 4000,
    retry: false,
    message: (facts) => `The range begins beyond the last of ${facts.size} bytes.`,
    suggestion: 'Ask for a range that begins inside the file.',
  },
  UNSUPPORTED_MEDIA_TYPE: {
    status: 415,
    close: 4000,
    retry: false,
    message: (facts) => `The content type ${quote(facts.contentType)} is not accepted here; ${facts.accepted} is.`,
    suggestion: 'Set the Content-Type header.',
  },
  UNPROCESSABLE_ENTITY: {
    status: 422,
    close: 4000,
    retry: false,
    message: (facts) => unprocessable(facts),
    suggestion: 'Mend the value that the message names and send the request again.',
  },
  INVALID_STORAGE_MUTATION_REQUEST: {
    status: 422,
    close: 4000,
    retry: false,
    message: (facts) =>
      facts.index === undefined
        ? `${facts.reason}. Nothing was changed.`
        : `Operation ${facts.index} (${facts.op} at ${quote(facts.path)}) failed: ${facts.reason}. Nothing was changed.`,
    suggestion: 'Read the document again and build the patch from what it holds now.',
  },
  INVALID_SCHEMA: {
    status: 422,
    close: 4000,
    retry: false,
    message: (facts) =>
      `The schema is not valid at line ${facts.line}, column ${facts.column}: expected ${facts.expected}, found ${facts.found}.`,
    suggestion: 'Check the format of the schema, and that the body is a string.',
  },
  SCHEMA_NOT_FOUND: {
    status: 404,
    close: 4001,
    retry: false,
    message: (facts) =>
      facts.roomId === undefined
        ? `The schema ${quote(facts.id)} does not exist.`
        : `No schema is attached to the room ${quote(facts.roomId)}.`,
    suggestion: 'Check the ID; it is the name of the schema, @ and its version.',
  },
  WEBHOOK_NOT_FOUND: {
    status: 404,
    close: 4001,
    retry: false,
    message: (facts) => `The webhook ${quote(facts.webhookId)} does not exist.`,
    suggestion: 'Check the ID; GET /v2/management/projects/{projectId}/webhooks lists the webhooks.',
  },
  SCHEMA_FROZEN: {
    status: 403,
    close: 4001,
    retry: false,
    message: (facts) => `The schema ${quote(facts.id)} is attached to a room and cannot be changed or deleted.`,
    suggestion: 'Detach it from all rooms first.',
  },
  SCHEMA_NOT_COMPATIBLE: {
    status: 409,
    close: 4000,
    retry: false,
    message: (facts) => `The Storage of the room does not match the schema ${quote(facts.id)}: ${facts.reason}.`,
    suggestion: 'Change the Storage where the message says, or attach another schema.',
  },
  IDEMPOTENCY_KEY_REUSED: {
    status: 422,
    close: 4000,
    retry: false,
    message: () => 'The Idempotency-Key was used before, with another request.',
    suggestion: 'Use a new key for every request, and the same key only to send the same request again.',
  },
  IDEMPOTENCY_KEY_IN_USE: {
    status: 409,
    close: 1013,
    retry: true,
    message: () => 'The first request with this Idempotency-Key is still running.',
    suggestion: 'Send the request again after the seconds in Retry-After: it is then given the answer of the first.',
  },
  ...YJS_ERRORS,
  FRAME_INVALID: {
    status: 422,
    close: 4000,
    retry: false,
    message: (facts) => `The frame was refused: ${facts.reason}.`,
    suggestion: 'See protocol documentation of the client SDK.',
  },
  TOO_MANY_MESSAGES: {
    status: 429,
    close: 1008,
    retry: true,
    message: (facts) => `More than ${facts.perSecondMax} messages a second came from one connection.`,
    suggestion: 'Raise the throttle of the client.',
  },
  ROOM_FULL: {
    status: 503,
    close: 4005,
    retry: true,
    message: (facts) => `The room holds its ${facts.connectionsMax} connections already.`,
    suggestion: 'Try again when somebody has left.',
  },
  ROOM_ID_CHANGED: {
    status: 404,
    close: 4006,
    retry: false,
    message: (facts) => `${facts.newRoomId}`,
    suggestion: 'Enter the room under its new ID.',
  },
  SLOW_CONSUMER: {
    status: 503,
    close: 1013,
    retry: true,
    message: () => 'The connection reads too slowly; it was closed so that it can catch up from a fresh state.',
    suggestion: 'Reconnect.',
  },
  CONNECTION_IDLE: {
    status: 408,
    close: 4200,
    retry: true,
    message: () => 'Nothing was heard from this connection for too long.',
    suggestion: 'Reconnect.',
  },
  KICKED: {
    status: 503,
    close: 4100,
    retry: true,
    message: (facts) => `${facts.reason ?? 'The connection was asked to come back.'}`,
    suggestion: 'Reconnect.',
  },
  SERVER_STOPPING: {
    status: 503,
    close: 1012,
    retry: true,
    message: () => 'This worker is stopping; another one, or its successor, takes over.',
    suggestion: 'Send the request again.',
  },
  ROOM_MOVED: {
    status: 503,
    close: 1012,
    retry: true,
    message: () => 'The room is moving to another owner.',
    suggestion: 'Send the request again.',
  },
  ROOM_OVERLOADED: {
    status: 429,
    close: 1013,
    retry: true,
    message: () => 'The room has more work waiting than it may hold.',
    suggestion: 'Send the request again after the seconds in Retry-After.',
  },
  WORKER_OUTDATED: {
    status: 503,
    close: 1013,
    retry: true,
    message: () => 'The worker that has the room is of an older version, which does not know this.',
    suggestion: 'Send the request again once all workers have been updated.',
  },
  WORKER_OVERLOADED: {
    status: 503,
    close: 1013,
    retry: true,
    message: () => 'This worker has as much to do as it can.',
    suggestion: 'Send the request again after the seconds in Retry-After.',
  },
  RATE_LIMIT_EXCEEDED: {
    status: 429,
    close: 1008,
    retry: true,
    message: () => 'Too many requests.',
    suggestion: 'Send the request again after the seconds in Retry-After.',
  },
  DATABASE_UNAVAILABLE: {
    status: 503,
    close: 1012,
    retry: true,
    message: () => 'The database does not answer at the moment; nothing of this request is confirmed.',
    suggestion: 'Send the request again after the seconds in Retry-After.',
  },
  BLOBS_UNAVAILABLE: {
    status: 503,
    close: 1012,
    retry: true,
    message: () => 'The store of files and large snapshots does not answer at the moment; nothing of this request is confirmed.',
    suggestion: 'Send the request again after the seconds in Retry-After.',
  },
  BODY_FOUND_NO_PLACE: {
    status: 503,
    close: 1013,
    retry: true,
    message: () =>
      'The body came faster than it could be taken in, and there is no place left on disk to keep it; nothing of this request was done.',
    suggestion: 'Send the request again after the seconds in Retry-After, and less at once.',
  },
  ROOM_UNREADABLE: {
    status: 503,
    close: 1013,
    retry: true,
    message: (facts) => `The stored state of the room could not be read: ${facts.reason}.`,
    suggestion: 'See the log of the worker; the stored state has not been touched.',
  },
  ROOM_QUARANTINED: {
    status: 503,
    close: 1012,
    retry: true,
    message: (facts) => `One worker after the other ended while it loaded the room; it is left alone until ${facts.until}.`,
    suggestion: 'See the log of the workers that ended; the stored state has not been touched.',
  },
  WORKER_UNREACHABLE: {
    status: 503,
    close: 1012,
    retry: true,
    message: () => 'The worker that serves this room cannot be reached; nothing was done.',
    suggestion: 'Send the request again after the seconds in Retry-After.',
  },
  NO_ANSWER: {
    status: 503,
    close: 1012,
    retry: true,
    message: () => 'The worker that serves this room did not answer in time; nothing was to be changed.',
    suggestion: 'Send the request again after the seconds in Retry-After.',
  },
  OUTCOME_UNKNOWN: {
    status: 503,
    close: 1012,
    retry: true,
    message: () => 'The worker that serves this room did not answer; the request may have had its effect.',
    suggestion: 'Send the request again with the same Idempotency-Key: its effect then happens once.',
  },
  INTERNAL_SERVER_ERROR: {
    status: 500,
    close: 1011,
    retry: true,
    message: (facts) => `Something went wrong on our side (${facts.errorId ?? 'no id'}).`,
    suggestion: 'Look for this id in the log of the worker.',
  },
} as const satisfies Record<string, ErrorEntry>;

function unprocessable(facts: Facts): string {
  if (facts.missing !== undefined) return `Missing key '${facts.missing}'.`;
  if (facts.key !== undefined) return `Value at key '${facts.key}' ${facts.reason}.`;
  return `${facts.reason ?? 'The request could not be understood'}.`;
}

function quote(value: unknown): string {
  return `"${String(value)}"`;
}
