/** Memory that uWebSockets.js lends for the time of a call. */

/** A copy to keep; a short one in Node's pool, which spares an allocation of its own for each keystroke. */
export function copyOf(lent: ArrayBuffer): Uint8Array {
  const { buffer, byteOffset, length } = Buffer.from(new Uint8Array(lent));
  return new Uint8Array(buffer, byteOffset, length); // a Buffer's `slice` would not copy
}
