/** Where deliveries find a connection: under the id of its session. */
import type { SessionId } from '../base/ids.ts';
import type { Connection } from './connection.ts';

export interface ConnectionBook {
  /** Gives the connection its next session id; the former one is forgotten. */
  renew(connection: Connection): SessionId;
  forget(connection: Connection): void;
}
