/** State vectors: by client, the clock up to which everything of it is known. Only their bytes; whose they are is not asked. */
import * as encoding from 'lib0/encoding';
import { ByteReader, invalidUpdate } from './byte-reader.ts';

export type Vector = ReadonlyMap<number, number>;

/** Of somebody who has nothing. */
export const NO_CLOCKS: Vector = new Map();

/** An entry is a client and a clock, a byte each at least. */
const ENTRY_BYTES_MIN = 2;

/** @throws AppError YJS_UPDATE_INVALID */
export function decodeVector(bytes: Uint8Array): Vector {
  return readVector(bytes, () => true);
}

/** The same of the clients that are in `known` alone: a question may name millions of others. @throws AppError YJS_UPDATE_INVALID */
export function decodeKnownOf(known: Vector, bytes: Uint8Array): Vector {
  return readVector(bytes, (client) => known.has(client));
}

function readVector(bytes: Uint8Array, isKept: (client: number) => boolean): Vector {
  const reader = new ByteReader(bytes);
  const vector = new Map<number, number>();
  for (let entries = reader.count(ENTRY_BYTES_MIN); entries > 0; entries -= 1) {
    const client = reader.varUint();
    const clock = reader.varUint();
    if (isKept(client)) vector.set(client, clock);
  }
  if (reader.left > 0) throw invalidUpdate('bytes follow the end of the state vector');
  return vector;
}

/** Highest client first, as Yjs writes it: equal documents have equal bytes. */
export function encodeVector(vector: Vector): Uint8Array {
  const encoder = encoding.createEncoder();
  encoding.writeVarUint(encoder, vector.size);
  for (const [client, clock] of [...vector].sort((one, other) => other[0] - one[0])) {
    encoding.writeVarUint(encoder, client);
    encoding.writeVarUint(encoder, clock);
  }
  return encoding.toUint8Array(encoder);
}
