/**
 * All that an SDK client may send (protocol §4.1): text frames to typed messages, everything checked here once.
 *
 * Unknown message codes are dropped, not refused: closing on them would stop a newer client for good.
 */
import Type, { type Static } from 'typebox';
import { Compile } from 'typebox/compile';
import { fromBase64 } from '../base/binary.ts';
import { JSON_DEPTH_MAX, type ReadFrame, readFrame } from '../base/bounded-json.ts';
import { AppError } from '../base/errors.ts';
import { isForbiddenKey, isJsonObject, isPrototypeKey, type Json, type JsonObject } from '../base/json.ts';
import { problemWith } from '../base/misfit.ts';
import { FEED_REQUESTS, type FeedRequest } from './feeds.ts';
import { NAME_LENGTHS } from './names.ts';
import { checkOps, type Op } from './storage-ops.ts';

export type ClientMessage =
  | { readonly type: 'presence'; readonly data: JsonObject; readonly targetActor: number | null }
  | { readonly type: 'broadcast'; readonly event: Json }
  /** About feeds, of which its room keeps none. */
  | { readonly type: 'feed.request'; readonly request: FeedRequest }
  | { readonly type: 'storage.fetch' }
  | { readonly type: 'storage.change'; readonly ops: readonly Op[] }
  /** `encoding`: null when it does not say which of them it speaks. */
  | { readonly type: 'ydoc.fetch'; readonly guid: string; readonly vector: Uint8Array; readonly encoding: YdocEncoding | null }
  | { readonly type: 'ydoc.change'; readonly guid: string; readonly update: Uint8Array; readonly encoding: YdocEncoding };

/** In which of them a client of the SDK sends what it changes in Yjs documents, and takes their hashes. It reads both. */
export const YDOC_ENCODINGS = ['V1', 'V2'] as const;
export type YdocEncoding = (typeof YDOC_ENCODINGS)[number];

/** Most messages in one frame. An SDK client sends a handful, or one for each Yjs transaction that a program made since its last frame. */
const MESSAGES_PER_FRAME_MAX = 10_000;

/** What is deeper is no frame. Less deep, and too deep for a value all the same, it is an op that is not taken, and the rest of the frame is. */
export const FRAME_DEPTH_MAX = 256;

/** Of presence and events, which are carried, and never looked up by a key of theirs. */
const PASSING = { depthMax: JSON_DEPTH_MAX + 4, isForbidden: isPrototypeKey };
/** Of an op: values may be as deep as anywhere, within what stands around the attributes of a text: the op, its operations or data, and one of those. */
const STORED = { depthMax: JSON_DEPTH_MAX + 3, isForbidden: isForbiddenKey };

const Guid = Type.Optional(Type.String({ maxLength: NAME_LENGTHS.guid }));

const FeedFields = Type.Object({ requestId: Type.String({ maxLength: 128 }) });

const IsV2 = Type.Optional(Type.Boolean());

const SHAPES = {
  100: Type.Object({ data: Type.Object({}), targetActor: Type.Optional(Type.Integer()) }), // a record would look at each key
  103: Type.Object({ event: Type.Unknown() }),
  200: Type.Object({}),
  201: Type.Object({ ops: Type.Array(Type.Unknown()) }),
  300: Type.Object({ vector: Type.String(), guid: Guid, v2: IsV2 }),
  301: Type.Object({ update: Type.String(), guid: Guid, v2: IsV2 }),
  510: FeedFields,
  511: FeedFields,
  512: FeedFields,
  513: FeedFields,
  514: FeedFields,
  515: FeedFields,
  516: FeedFields,
  517: FeedFields,
} as const;

type Code = keyof typeof SHAPES;
type Fields<Key extends Code> = Static<(typeof SHAPES)[Key]>;

type FlawIn = ReadFrame['flawIn'];

const READERS: { readonly [Key in Code]: (fields: Fields<Key>, flawIn: FlawIn) => ClientMessage } = {
  100: (fields, flawIn) => ({
    type: 'presence',
    data: passing(fields.data as JsonObject, flawIn),
    targetActor: fields.targetActor ?? null,
  }),
  103: (fields, flawIn) => ({ type: 'broadcast', event: passing(fields.event as Json, flawIn) }),
  200: () => ({ type: 'storage.fetch' }),
  201: (fields, flawIn) => ({ type: 'storage.change', ops: checkOps(fields.ops, (op) => flawIn(op, STORED)) }),
  300: readYdocFetch,
  301: readYdocChange,
  510: feedRequest(510),
  511: feedRequest(511),
  512: feedRequest(512),
  513: feedRequest(513),
  514: feedRequest(514),
  515: feedRequest(515),
  516: feedRequest(516),
  517: feedRequest(517),
};

const CHECKS = new Map(Object.entries(SHAPES).map(([code, shape]) => [Number(code), Compile(shape)]));

/**
 * The messages of one text frame: an array of objects, or one object. Ops whose keys or values may not be stored are among them, marked as such.
 * @throws AppError FRAME_INVALID naming the message and the reason, or TOO_MANY_MESSAGES: an SDK client that was offline sends a message for each change of a
 *   Yjs document, all in one frame, and has to come back for them to be asked for. None of the frame counts then.
 */
export function decodeSdkFrame(text: string): ClientMessage[] {
  const { json, flawIn } = readFrame(text, FRAME_DEPTH_MAX);
  const parts = Array.isArray(json) ? json : [json];
  if (parts.length > MESSAGES_PER_FRAME_MAX) throw new AppError('TOO_MANY_MESSAGES', { perSecondMax: MESSAGES_PER_FRAME_MAX });
  const messages: ClientMessage[] = [];
  for (const part of parts) {
    if (!isJsonObject(part) || typeof part.type !== 'number')
      throw new AppError('FRAME_INVALID', { reason: 'a message is not an object with a numeric type' });
    const message = decodeMessage(part.type, part, flawIn);
    if (message !== null) messages.push(message);
  }
  return messages;
}

/** A frame in which a client would send these events. */
export function encodeBroadcasts(events: readonly Json[]): string {
  return JSON.stringify(events.map((event) => ({ type: 103, event })));
}

function decodeMessage(code: number, fields: JsonObject, flawIn: FlawIn): ClientMessage | null {
  const check = CHECKS.get(code);
  if (check === undefined) return null;
  if (!check.Check(fields)) {
    const { pointer, reason } = problemWith(SHAPES[code as Code], fields);
    throw new AppError('FRAME_INVALID', { reason: `message ${code}${pointer} ${reason}` });
  }
  // The check above is what makes the fields fit the reader of the same code.
  const read = READERS[code as Code] as (checked: JsonObject, flawIn: FlawIn) => ClientMessage;
  return read(fields, flawIn);
}

function passing<Part extends Json>(part: Part, flawIn: FlawIn): Part {
  const flaw = flawIn(part, PASSING);
  if (flaw !== null) throw new AppError('FRAME_INVALID', { reason: flaw });
  return part;
}

function readYdocFetch({ guid = '', vector, v2 }: Fields<300>): ClientMessage {
  return { type: 'ydoc.fetch', guid, vector: bytesOf('vector', vector), encoding: v2 === undefined ? null : encodingOf(v2) };
}

function readYdocChange({ guid = '', update, v2 = false }: Fields<301>): ClientMessage {
  return { type: 'ydoc.change', guid, update: bytesOf('update', update), encoding: encodingOf(v2) };
}

function encodingOf(v2: boolean): YdocEncoding {
  return v2 ? 'V2' : 'V1';
}

function feedRequest(code: keyof typeof FEED_REQUESTS) {
  return (fields: Static<typeof FeedFields>, flawIn: FlawIn): ClientMessage => {
    const { requestId } = fields;
    const request = {
      kind: FEED_REQUESTS[code],
      requestId,
      fields: fields as JsonObject,
      flaw: flawIn(fields as JsonObject, STORED),
    };
    return { type: 'feed.request', request };
  };
}

function bytesOf(field: string, text: string): Uint8Array {
  const bytes = fromBase64(text);
  if (bytes === null) throw new AppError('FRAME_INVALID', { reason: `${field} is not base64` });
  return bytes;
}
