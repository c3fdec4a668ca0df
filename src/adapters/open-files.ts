import { readFileSync } from 'node:fs';

/** How many files, sockets among them, this process may have open at once. Null where the system does not say. */
export function openFilesMax(): number | null {
  try {
    const [, soft] = /^Max open files +(\d+)/m.exec(readFileSync('/proc/self/limits', 'utf8')) ?? [];
    return soft === undefined ? null : Number(soft);
  } catch {
    return null; // no Linux, or no /proc
  }
}
