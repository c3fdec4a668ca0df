/** How much a server grows: its resident memory, as Linux counts it. */
import { readFileSync } from 'node:fs';

const EVERY_MS = 50;

/** The highest above where it began, looked at every so often. */
export function watchMemory(pid: number): { begin(): void; end(): number } {
  let [base, most] = [0, 0];
  let timer: NodeJS.Timeout | undefined;
  return {
    begin() {
      base = residentMb(pid);
      most = base;
      timer = setInterval(() => {
        most = Math.max(most, residentMb(pid));
      }, EVERY_MS);
    },
    end() {
      clearInterval(timer);
      return Math.max(most, residentMb(pid)) - base;
    },
  };
}

export function residentMb(pid: number): number {
  const kilobytes = /^VmRSS:\s+(\d+) kB$/m.exec(readFileSync(`/proc/${pid}/status`, 'utf8'))?.[1];
  if (kilobytes === undefined) throw new Error(`process ${pid} has no memory that Linux tells of`);
  return (Number(kilobytes) * 1_024) / 1e6;
}
