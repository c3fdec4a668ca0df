/**
 * Positions of list items: base-95 fractions written in printable ASCII, ordered as plain strings (protocol §5.3).
 *
 * The SDK computes the same ones; a position that differs by one character shows as an item that jumps.
 */

/** Digit 0 is the space, digit 94 the tilde. */
const ZERO_CODE = 0x20;
const DIGITS = 95;
const LAST = DIGITS - 1;
const ONE = '!';

/** The position closest to what a client sent: foreign characters clamped, no trailing zeros, never empty. */
export function asPos(text: string): string {
  if (/^[ -~]*[!-~]$/.test(text)) return text;
  let clamped = '';
  for (let at = 0; at < text.length; at += 1) clamped += digitChar(Math.min(Math.max(digitAt(text, at), 0), LAST));
  return withoutTrailingZeros(clamped) || ONE;
}

/** A position after `lo` and before `hi`, either of which may be absent; both must be positions, and `lo` < `hi`. */
export function makePosition(lo?: string, hi?: string): string {
  if (lo === undefined) return hi === undefined ? ONE : before(hi);
  return hi === undefined ? after(lo) : between(lo, hi);
}

/** Adds 1 within a viewport that grows in steps, so that a thousand pushes stay within two characters. */
function after(lo: string): string {
  const viewport = lo.length <= 2 ? 2 : 2 + 3 * Math.ceil((lo.length - 2) / 3);
  // Only a position of 94s all through overflows, and then the wider viewport ends in zeros.
  return incremented(lo, viewport) ?? incremented(lo, viewport + 3)!;
}

function incremented(lo: string, viewport: number): string | null {
  let at = viewport - 1;
  while (at >= 0 && digitOr(lo, at, 0) === LAST) at -= 1;
  if (at < 0) return null;
  return digitsOf(lo, at) + digitChar(digitOr(lo, at, 0) + 1);
}

function before(hi: string): string {
  let at = 0;
  while (digitAt(hi, at) === 0) at += 1;
  if (at < hi.length - 1) return hi.slice(0, at + 1);
  const digit = digitAt(hi, at);
  return hi.slice(0, at) + (digit === 1 ? ' ~' : digitChar(digit - 1));
}

function between(lo: string, hi: string): string {
  let at = 0;
  while (digitOr(lo, at, 0) === digitOr(hi, at, LAST)) at += 1;
  const low = digitOr(lo, at, 0);
  const high = digitOr(hi, at, LAST);
  if (high - low > 1) return digitsOf(lo, at) + digitChar((low + high) >> 1);
  // One apart: whatever follows is below `hi` already, so only `lo` bounds the rest.
  at += 1;
  while (digitOr(lo, at, 0) >= LAST - 1) at += 1;
  return digitsOf(lo, at) + digitChar((digitOr(lo, at, 0) + LAST) >> 1);
}

/** The first `count` digits; zeros follow those that are written. */
function digitsOf(position: string, count: number): string {
  return position.slice(0, count).padEnd(count, ' ');
}

function digitAt(position: string, at: number): number {
  return position.charCodeAt(at) - ZERO_CODE;
}

function digitOr(position: string, at: number, otherwise: number): number {
  return at < position.length ? digitAt(position, at) : otherwise;
}

function digitChar(digit: number): string {
  return String.fromCharCode(ZERO_CODE + digit);
}

/** A loop, because a pattern would try anew at each of a million spaces. */
function withoutTrailingZeros(position: string): string {
  let end = position.length;
  while (end > 0 && digitAt(position, end - 1) === 0) end -= 1;
  return position.slice(0, end);
}
