/** Memory that uWebSockets.js lends for the time of a call. */

/** Short copies lie one behind the other, which spares an allocation for each keystroke. One that is kept for long keeps so much memory. */
const POOL_BYTES = 8 * 1024;
const SHORT_BYTES_MAX = POOL_BYTES / 2;
/** What is looked at as numbers should begin at one. */
const ALIGNMENT = 8;
let pool = new Uint8Array(POOL_BYTES);
let used = 0;

/** A copy to keep. */
export function copyOf(lent: ArrayBuffer): Uint8Array {
  if (lent.byteLength > SHORT_BYTES_MAX) return new Uint8Array(lent.slice(0));
  if (used + lent.byteLength > POOL_BYTES) {
    pool = new Uint8Array(POOL_BYTES);
    used = 0;
  }
  const from = used;
  pool.set(new Uint8Array(lent), from);
  used += Math.ceil(lent.byteLength / ALIGNMENT) * ALIGNMENT;
  return new Uint8Array(pool.buffer, from, lent.byteLength);
}
