/** A port to start on, for tests that stop a server and start it again at the same address. */
import { createServer } from 'node:net';

/** A port that nobody listens on at the moment. */
export async function freePort(): Promise<number> {
  const probe = createServer();
  await new Promise<void>((resolve, reject) => {
    probe.once('error', reject);
    probe.listen(0, '127.0.0.1', resolve);
  });
  const address = probe.address();
  await new Promise((resolve) => probe.close(resolve));
  if (address === null || typeof address === 'string') throw new Error('a TCP server has a numeric port');
  return address.port;
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
