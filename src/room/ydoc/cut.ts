/**
 * The rest of a struct into which a state vector falls. Of a text Yjs sends what lies behind the vector, and so does this: what one person typed on end
 * becomes one struct, which may be a book. Anything else is short, and goes whole: Yjs passes over the part of it that it has.
 */
import * as encoding from 'lib0/encoding';
import { ByteReader } from './byte-reader.ts';
import { CONTENT } from './scan-content.ts';
import { HAS_KEY, HAS_ORIGIN, HAS_RIGHT_ORIGIN, KIND } from './scan-struct.ts';

export interface Cut {
  readonly client: number;
  /** Clock of the struct. */
  readonly from: number;
  /** Within it. */
  readonly clock: number;
}

export interface Rest {
  readonly from: number;
  readonly pieces: readonly Uint8Array[];
}

/** @param bytes that begin with a struct, passed by the scan, and go on with others */
export function restFrom(bytes: Uint8Array, cut: Cut): Rest {
  const reader = new ByteReader(bytes);
  const info = reader.byte();
  if (cut.clock === cut.from || (info & KIND) !== CONTENT.string || info & HAS_KEY) return { from: cut.from, pieces: [bytes] };
  const rightOrigin = passPlace(reader, info);
  reader.text();
  const text = reader.lastText().slice(cut.clock - cut.from);
  const struct = encoding.encode((encoder) => {
    encoding.writeUint8(encoder, CONTENT.string | HAS_ORIGIN | (info & HAS_RIGHT_ORIGIN));
    encoding.writeVarUint(encoder, cut.client);
    encoding.writeVarUint(encoder, cut.clock - 1);
    encoding.writeUint8Array(encoder, rightOrigin);
    encoding.writeVarString(encoder, text);
  });
  return { from: cut.clock, pieces: [struct, bytes.subarray(reader.at)] };
}

/** Leaves the reader at the content. Returns the bytes of the right neighbour, none when there is none. */
function passPlace(reader: ByteReader, info: number): Uint8Array {
  if (info & HAS_ORIGIN) passId(reader);
  const rightFrom = reader.at;
  if (info & HAS_RIGHT_ORIGIN) passId(reader);
  const rightTo = reader.at;
  if ((info & (HAS_ORIGIN | HAS_RIGHT_ORIGIN)) === 0) {
    if (reader.varUint() === 1) reader.text();
    else passId(reader);
  }
  return reader.bytes.subarray(rightFrom, rightTo);
}

function passId(reader: ByteReader): void {
  reader.varUint();
  reader.varUint();
}
