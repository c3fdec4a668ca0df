/** A port to start on, for tests that stop a server and start it again at the same address. */
import { createServer } from 'node:net';

/** A port that nobody listens on, and that nobody is given while that is so. */
export async function freePort(): Promise<number> {
  return quietPorts(1);
}

/**
 * So many ports in a row, to stop and start on: below those that the system hands out, so that while nobody listens no connection of anybody is
 * given one of them.
 */
export async function quietPorts(count: number): Promise<number> {
  for (;;) {
    const first = 23_000 + Math.floor(Math.random() * 9_000);
    const free = await Promise.all(Array.from({ length: count }, (_, index) => isFree(first + index)));
    if (free.every(Boolean)) return first;
  }
}

function isFree(port: number): Promise<boolean> {
  const probe = createServer();
  return new Promise((resolve) => {
    probe.once('error', () => resolve(false));
    probe.listen(port, '127.0.0.1', () => probe.close(() => resolve(true)));
  });
}
