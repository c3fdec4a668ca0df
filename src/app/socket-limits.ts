/** How many sockets a worker may have open: at the system's limit of open files it could neither take nor refuse one, and would try without end. */
import type { Log } from '../base/observe.ts';

/** For all that is no socket of a client: databases, other workers, S3, files. Where few may be open, a share of them. */
const OTHER_FILES = 1_000;
const OTHER_FILES_SHARE = 0.25;
/** Of the sockets, for requests. */
const REQUESTS_SHARE = 0.05;

export interface SocketLimits {
  /** WebSockets. */
  readonly connectionsMax: number;
  /** With those of requests; no limit of ours where the system does not tell its own. */
  readonly socketsMax: number;
}

/** `asked` is the setting CONNECTIONS_MAX, of which fewer may fit: then a line of the log says so. */
export function socketLimits(asked: number, { openFiles, log }: { openFiles: number | null; log: Log }): SocketLimits {
  if (openFiles === null) return { connectionsMax: asked, socketsMax: Number.POSITIVE_INFINITY };
  const socketsMax = openFiles - Math.min(OTHER_FILES, Math.ceil(openFiles * OTHER_FILES_SHARE));
  const fits = Math.floor(socketsMax * (1 - REQUESTS_SHARE));
  if (fits < asked)
    log.warn({ asked, connectionsMax: fits, openFiles }, 'fewer sockets than CONNECTIONS_MAX: raise the limit of open files');
  return { connectionsMax: Math.min(asked, fits), socketsMax };
}
