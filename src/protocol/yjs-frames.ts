/**
 * The binary frames of y-websocket: y-protocols sync (0), awareness (1), auth (2) and query-awareness (3).
 *
 * Only the framing: what an update or a state vector holds is not looked at here. Awareness entries are opened, because the room
 * checks whose they are.
 */
import * as decoding from 'lib0/decoding';
import * as encoding from 'lib0/encoding';
import { concat, prefixed } from '../base/binary.ts';
import { parseBoundedJson } from '../base/bounded-json.ts';
import { AppError } from '../base/errors.ts';
import { isJsonObject, type JsonObject } from '../base/json.ts';

const SYNC = 0;
const AWARENESS = 1;
const AUTH = 2;
const QUERY_AWARENESS = 3;

const STEP_1 = 0;
const STEP_2 = 1;
const UPDATE = 2;

const PERMISSION_DENIED = 0;

export type YjsClientFrame =
  | { readonly type: 'step1'; readonly vector: Uint8Array }
  /** Step 2 and update frames carry the same: bytes to merge. */
  | { readonly type: 'update'; readonly update: Uint8Array }
  | { readonly type: 'awareness'; readonly update: Uint8Array }
  | { readonly type: 'query-awareness' };

/** One awareness state as it travels; null says that the client is gone. */
export interface AwarenessState {
  readonly clientId: number;
  readonly clock: number;
  readonly state: JsonObject | null;
}

/** Most states one awareness message may hold: y-websocket says again all that it has just heard, of as many people as a room may have. */
const AWARENESS_STATES_MAX = 10_000;

/** @throws AppError FRAME_INVALID */
export function decodeYjsFrame(frame: Uint8Array): YjsClientFrame {
  try {
    return decodeFrame(decoding.createDecoder(frame));
  } catch (error) {
    throw asRefusal(error);
  }
}

function decodeFrame(decoder: decoding.Decoder): YjsClientFrame {
  const type = decoding.readVarUint(decoder);
  switch (type) {
    case SYNC:
      return decodeSync(decoder);
    case AWARENESS:
      return { type: 'awareness', update: decoding.readVarUint8Array(decoder) };
    case QUERY_AWARENESS:
      return { type: 'query-awareness' };
    default:
      throw new AppError('FRAME_INVALID', { reason: `message type ${type} is not known` });
  }
}

function decodeSync(decoder: decoding.Decoder): YjsClientFrame {
  const step = decoding.readVarUint(decoder);
  const bytes = decoding.readVarUint8Array(decoder);
  if (step === STEP_1) return { type: 'step1', vector: bytes };
  if (step === STEP_2 || step === UPDATE) return { type: 'update', update: bytes };
  throw new AppError('FRAME_INVALID', { reason: `sync step ${step} is not known` });
}

/** @throws AppError FRAME_INVALID */
export function decodeAwareness(update: Uint8Array): AwarenessState[] {
  try {
    return decodeStates(decoding.createDecoder(update));
  } catch (error) {
    throw asRefusal(error);
  }
}

function decodeStates(decoder: decoding.Decoder): AwarenessState[] {
  const count = decoding.readVarUint(decoder);
  if (count > AWARENESS_STATES_MAX)
    throw new AppError('FRAME_INVALID', { reason: `more than ${AWARENESS_STATES_MAX} awareness states` });
  const states: AwarenessState[] = [];
  for (let index = 0; index < count; index += 1) {
    const clientId = decoding.readVarUint(decoder);
    const clock = decoding.readVarUint(decoder);
    const state = parseBoundedJson(decoding.readVarString(decoder));
    if (state !== null && !isJsonObject(state))
      throw new AppError('FRAME_INVALID', { reason: 'an awareness state is neither an object nor null' });
    states.push({ clientId, clock, state });
  }
  if (decoding.hasContent(decoder)) throw new AppError('FRAME_INVALID', { reason: 'bytes after the last awareness state' });
  return states;
}

export type AwarenessClock = Pick<AwarenessState, 'clientId' | 'clock'>;

/** The client whose state the message tells, when it tells of one only; its state is not looked at. Null for any other bytes. */
export function soleAwareness(update: Uint8Array): AwarenessClock | null {
  const decoder = decoding.createDecoder(update);
  try {
    return decoding.readVarUint(decoder) === 1 ? readClock(decoder) : null;
  } catch {
    return null; // too short; the room refuses it
  }
}

/** Whose states a message tells, and as of when; the states are not looked at. None of bytes that are no such message, or of more than one may tell. */
export function awarenessClocks(update: Uint8Array): AwarenessClock[] {
  const decoder = decoding.createDecoder(update);
  const clocks: AwarenessClock[] = [];
  try {
    const count = decoding.readVarUint(decoder);
    if (count > AWARENESS_STATES_MAX) return []; // the room refuses it
    for (let left = count; left > 0; left -= 1) {
      clocks.push(readClock(decoder));
      decoding.readVarUint8Array(decoder); // the state
    }
    return clocks;
  } catch {
    return []; // too short; the room refuses it
  }
}

/** Whose states a frame of ours tells, and as of when; none when it is about something else. */
export function awarenessClocksIn(frame: Uint8Array): AwarenessClock[] {
  const decoder = decoding.createDecoder(frame);
  if (decoding.readVarUint(decoder) !== AWARENESS) return [];
  decoding.readVarUint(decoder); // bytes of the update
  return Array.from({ length: decoding.readVarUint(decoder) }, () => {
    const clock = readClock(decoder);
    decoding.readVarUint8Array(decoder); // the state
    return clock;
  });
}

function readClock(decoder: decoding.Decoder): AwarenessClock {
  return { clientId: decoding.readVarUint(decoder), clock: decoding.readVarUint(decoder) };
}

export function encodeAwareness(states: readonly AwarenessState[]): Uint8Array {
  const encoder = encoding.createEncoder();
  encoding.writeVarUint(encoder, states.length);
  for (const { clientId, clock, state } of states) {
    encoding.writeVarUint(encoder, clientId);
    encoding.writeVarUint(encoder, clock);
    encoding.writeVarString(encoder, JSON.stringify(state));
  }
  return encoding.toUint8Array(encoder);
}

/** Several messages of states as one, in the same order: of the same client the newest counts. */
export function joinAwareness(updates: readonly Uint8Array[]): Uint8Array {
  if (updates.length === 1) return updates[0]!;
  let count = 0;
  const bodies = updates.map((update) => {
    const decoder = decoding.createDecoder(update);
    count += decoding.readVarUint(decoder);
    return update.subarray(decoder.pos);
  });
  return concat([encoding.encode((encoder) => encoding.writeVarUint(encoder, count)), ...bodies]);
}

export const syncStep1Frame = (vector: Uint8Array): Uint8Array => frameOf([SYNC, STEP_1], vector);
export const updateFrame = (update: Uint8Array): Uint8Array => frameOf([SYNC, UPDATE], update);
export const awarenessFrame = (update: Uint8Array): Uint8Array => frameOf([AWARENESS], update);

export function permissionDeniedFrame(reason: string): Uint8Array {
  const encoder = encoding.createEncoder();
  encoding.writeVarUint(encoder, AUTH);
  encoding.writeVarUint(encoder, PERMISSION_DENIED);
  encoding.writeVarString(encoder, reason);
  return encoding.toUint8Array(encoder);
}

/** Smaller ones are framed faster than they are found. */
const KEPT_BYTES_MIN = 64 * 1024;
/** The last large document that somebody was sent, framed, as long as its bytes are there: who enters after another is sent the same. */
let keptStates = new WeakMap<Uint8Array, Uint8Array>();

/** @param update not written to any more: the frame may be sent again for the same bytes. */
export function syncStep2Frame(update: Uint8Array): Uint8Array {
  const kept = keptStates.get(update);
  if (kept !== undefined) return kept;
  const frame = frameOf([SYNC, STEP_2], update);
  if (update.length >= KEPT_BYTES_MIN) keptStates = new WeakMap([[update, frame]]);
  return frame;
}

/** One for all frames: it is asked for the few bytes before a body, and each keystroke would cost one. */
const headEncoder = encoding.createEncoder();

/** The body is copied once; an encoder that has to grow for it would do so several times. */
function frameOf(head: readonly number[], body: Uint8Array): Uint8Array {
  headEncoder.cpos = 0;
  for (const part of head) encoding.writeVarUint(headEncoder, part);
  encoding.writeVarUint(headEncoder, body.length);
  return prefixed(body, headEncoder.cbuf, headEncoder.cpos);
}

/** lib0 and JSON throw their own errors on short or wrong input; to us each is one refused frame. */
function asRefusal(error: unknown): AppError {
  if (error instanceof AppError) return error;
  return new AppError('FRAME_INVALID', { reason: error instanceof Error ? error.message : String(error) });
}
