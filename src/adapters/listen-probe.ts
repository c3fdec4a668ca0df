/** Why a server could not listen, in one sentence: uWebSockets.js only says that it could not, so the system is asked once more. */
import { createServer } from 'node:net';
import { StartRefused } from '../base/start-refused.ts';

/** The sentence for what the system answered. */
export function listenRefused(host: string, port: number, error: unknown): StartRefused {
  const code = (error as NodeJS.ErrnoException).code;
  return new StartRefused(sentence(host, port, code ?? String(error)), { cause: error });
}

/** Tries the same port in the plain way; the reason is in what comes back. */
export function whyNotListening(host: string, port: number): Promise<StartRefused> {
  return new Promise((resolve) => {
    const probe = createServer();
    probe.once('error', (error) => resolve(listenRefused(host, port, error)));
    probe.listen({ host, port, exclusive: true }, () => {
      const refusal = new StartRefused(`port ${port} of ${host} could not be had; it is free again now.`, { cause: null });
      probe.close(() => resolve(refusal));
    });
  });
}

function sentence(host: string, port: number, code: string): string {
  if (code === 'EADDRINUSE') return `port ${port} is taken by another process; set PORT to a free one, or stop that process.`;
  if (code === 'EACCES') return `port ${port} may not be used by this user; set PORT to one above 1023.`;
  if (code === 'EADDRNOTAVAIL' || code === 'ENOTFOUND')
    return `${host} is no address of this machine, so port ${port} cannot be opened on it; set HOST.`;
  return `port ${port} of ${host} cannot be opened (${code}).`;
}
