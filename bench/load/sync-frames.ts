/** Frames of the y-websocket protocol, as far as a document needs them. */
import * as decoding from 'lib0/decoding';
import * as encoding from 'lib0/encoding';
import * as Y from 'yjs';

const SYNC = 0;
export const STEP_1 = 0;
export const STEP_2 = 1;
export const UPDATE = 2;

/** What a client asks who has nothing yet. */
export const ASK_FOR_ALL = syncFrame(STEP_1, Y.encodeStateVector(new Y.Doc()));

export function syncFrame(step: number, payload: Uint8Array): Buffer {
  const encoder = encoding.createEncoder();
  encoding.writeVarUint(encoder, SYNC);
  encoding.writeVarUint(encoder, step);
  encoding.writeVarUint8Array(encoder, payload);
  return Buffer.from(encoding.toUint8Array(encoder));
}

export function isStep(step: number, frame: Buffer): boolean {
  return frame[0] === SYNC && frame[1] === step;
}

/** The bytes after type and step: a state vector, or an update. A view. */
export function updateIn(frame: Buffer): Uint8Array {
  return decoding.readVarUint8Array(decoding.createDecoder(frame.subarray(2)));
}
