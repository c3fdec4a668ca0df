/**
 * Whether a port can be had, and if not why, in one sentence. Asked before anything slow is started, and again when uWebSockets.js, which
 * only says that it could not listen, has failed.
 */
import { type AddressInfo, createServer } from 'node:net';
import { StartRefused } from '../base/start-refused.ts';

/** What the operator has to change. */
interface SettingNames {
  readonly host: string;
  readonly port: string;
}

const PUBLIC: SettingNames = { host: 'HOST', port: 'PORT' };

/** The sentence for what the system answered; `names` are the settings that say where to listen. */
export function listenRefused(host: string, port: number, error: unknown, names: SettingNames = PUBLIC): StartRefused {
  const code = (error as NodeJS.ErrnoException).code;
  return new StartRefused(sentence({ host, port, names }, code ?? String(error)), { cause: error });
}

/** Takes the port in the plain way and gives it back; null when nothing stands against it. */
export async function probePort(host: string, port: number): Promise<StartRefused | null> {
  const found = await tryPort(host, port);
  return found instanceof StartRefused ? found : null;
}

/** `port` itself or, when it is 0, one that nobody has at the moment. @throws StartRefused when it cannot be had. */
export async function portToShare(host: string, port: number): Promise<number> {
  const found = await tryPort(host, port);
  if (found instanceof StartRefused) throw found;
  return found;
}

function tryPort(host: string, port: number): Promise<number | StartRefused> {
  return new Promise((resolve) => {
    const probe = createServer();
    probe.once('error', (error) => resolve(listenRefused(host, port, error)));
    probe.listen({ host, port, exclusive: true }, () => {
      const bound = (probe.address() as AddressInfo).port;
      probe.close(() => resolve(bound));
    });
  });
}

/** The reason for a failure that gave none. */
export async function whyNotListening(host: string, port: number): Promise<StartRefused> {
  const freeAgain = `port ${port} of ${host} could not be had; it is free again now.`;
  return (await probePort(host, port)) ?? new StartRefused(freeAgain, { cause: null });
}

function sentence({ host, port, names }: { host: string; port: number; names: SettingNames }, code: string): string {
  if (code === 'EADDRINUSE')
    return `port ${port} is taken by another process; set ${names.port} to a free one, or stop that process.`;
  if (code === 'EACCES') return `port ${port} may not be used by this user; set ${names.port} to one above 1023.`;
  if (code === 'EADDRNOTAVAIL' || code === 'ENOTFOUND')
    return `${host} is no address of this machine, so port ${port} cannot be opened on it; set ${names.host}.`;
  return `port ${port} of ${host} cannot be opened (${code}).`;
}
