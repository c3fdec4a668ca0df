/** The figures of the bus over TCP: how long it waits and how much it holds. */

export interface TcpBusLimits {
  /** One message, packed: as much as may wait for a socket. A larger one to send fails its ask; a larger one that comes ends the link. */
  readonly frameBytesMax: number;
  /** What may wait for a peer before the link is given up; one message may come on top, however large. */
  readonly linkBytesMax: number;
  /** Messages that may wait for a link to be made; their bytes count against `linkBytesMax`. */
  readonly waitingMax: number;
  /** Messages of one link whose handler has not finished; at that many the link is not read. */
  readonly underWayMax: number;
  /** Connections that have not yet proved to be workers; beyond it the oldest goes. A cluster of 200 may arrive at once. */
  readonly strangersMax: number;
}

export const LIMITS: TcpBusLimits = {
  frameBytesMax: 128 * 1024 * 1024,
  linkBytesMax: 256 * 1024 * 1024,
  waitingMax: 10_000,
  underWayMax: 10_000,
  strangersMax: 512,
};

export const TIMES = {
  connectMs: 1_000,
  /** From the first byte of a connection, or from the dial, until a link is in use. */
  handshakeMs: 2_000,
  /** After a failed dial nothing is tried for so long. */
  failFastMs: 150,
  /** Each link looks this often whether it was quiet and whether its peer was. */
  tickMs: 500,
  /** So many ticks without a write, and a ping is sent: 1 s. */
  pingTicks: 2,
  /** So many ticks in which nothing came, and the link is down: 3 s. Ticks, not times: a worker whose own loop stood still first reads what came. */
  silentTicks: 6,
  /** For a connection that is closed in order to take what was still to be sent. */
  closeGraceMs: 1_000,
} as const;

if (!(TIMES.connectMs < TIMES.handshakeMs)) throw new Error('bus: a connection needs time left for its handshake');
if (!(2 * (TIMES.pingTicks + 1) <= TIMES.silentTicks)) throw new Error('bus: one late ping must not end a link');
