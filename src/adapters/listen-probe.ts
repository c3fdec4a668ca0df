/**
 * Whether a port can be had, and if not why, in one sentence. Asked before anything slow is started, and again when uWebSockets.js, which
 * only says that it could not listen, has failed.
 */
import { createServer } from 'node:net';
import { StartRefused } from '../base/start-refused.ts';

/** The sentence for what the system answered. */
export function listenRefused(host: string, port: number, error: unknown): StartRefused {
  const code = (error as NodeJS.ErrnoException).code;
  return new StartRefused(sentence(host, port, code ?? String(error)), { cause: error });
}

/** Takes the port in the plain way and gives it back; null when nothing stands against it. */
export function probePort(host: string, port: number): Promise<StartRefused | null> {
  return new Promise((resolve) => {
    const probe = createServer();
    probe.once('error', (error) => resolve(listenRefused(host, port, error)));
    probe.listen({ host, port, exclusive: true }, () => probe.close(() => resolve(null)));
  });
}

/** The reason for a failure that gave none. */
export async function whyNotListening(host: string, port: number): Promise<StartRefused> {
  const freeAgain = `port ${port} of ${host} could not be had; it is free again now.`;
  return (await probePort(host, port)) ?? new StartRefused(freeAgain, { cause: null });
}

function sentence(host: string, port: number, code: string): string {
  if (code === 'EADDRINUSE') return `port ${port} is taken by another process; set PORT to a free one, or stop that process.`;
  if (code === 'EACCES') return `port ${port} may not be used by this user; set PORT to one above 1023.`;
  if (code === 'EADDRNOTAVAIL' || code === 'ENOTFOUND')
    return `${host} is no address of this machine, so port ${port} cannot be opened on it; set HOST.`;
  return `port ${port} of ${host} cannot be opened (${code}).`;
}
