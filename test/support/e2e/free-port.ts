/** A port to start on, for tests that stop a server and start it again at the same address. */
import { createServer } from 'node:net';

/** Below the ports that the system hands out. Test files that run side by side have parts of their own: what is free for one would be for the other. */
const FIRST = 23_000;
const PART_PORTS = 2_250;
const PARTS = 4;
const part = Number(process.env.VITEST_POOL_ID ?? 0) % PARTS;
/** Those that this process was given: they are its own, listened on or not. */
const given = new Set<number>();

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
    const first = FIRST + part * PART_PORTS + Math.floor(Math.random() * (PART_PORTS - count));
    const ports = Array.from({ length: count }, (_, index) => first + index);
    if (ports.some((port) => given.has(port))) continue;
    for (const port of ports) given.add(port);
    if ((await Promise.all(ports.map(isFree))).every(Boolean)) return first;
  }
}

function isFree(port: number): Promise<boolean> {
  const probe = createServer();
  return new Promise((resolve) => {
    probe.once('error', () => resolve(false));
    probe.listen(port, '127.0.0.1', () => probe.close(() => resolve(true)));
  });
}
