/** How many bytes something has cost within a second, so that the next can be put off. */
import { isWithin } from './clock.ts';

export interface ByteWindow {
  readonly fromMs: number;
  bytes: number;
}

const WINDOW_MS = 1_000;

/** 0 when no window is open. */
export function bytesIn(window: ByteWindow | null, nowMs: number): number {
  return window !== null && isOpen(window, nowMs) ? window.bytes : 0;
}

/** The window in which they are counted: the open one, or one that begins with them. */
export function counted(bytes: number, window: ByteWindow | null, nowMs: number): ByteWindow {
  if (window === null || !isOpen(window, nowMs)) return { fromMs: nowMs, bytes };
  window.bytes += bytes;
  return window;
}

function isOpen({ fromMs }: ByteWindow, nowMs: number): boolean {
  return isWithin(WINDOW_MS, { fromMs, nowMs });
}
