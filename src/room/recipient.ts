/** Whom something is for, and the shortest way there. */
import type { SessionId } from '../base/ids.ts';
import type { OutFrame } from '../kernel/transport/send-budget.ts';

/** A socket of this worker. */
export interface Hearer {
  /** Whether it carries this session still. */
  carries(session: SessionId): boolean;
  /** Never throws: what goes wrong costs the socket. */
  send(frames: readonly OutFrame[]): void;
  /** Deliveries that have begun and not reached it. */
  owed: number;
}

/** A session, or what stands for one that is known by its id alone. */
export interface Recipient {
  readonly id: SessionId;
  /** Found by the gateway, if it is on this worker, and looked up again when it carries another; it means nothing to the room. */
  hearer: Hearer | null;
}

export function recipientOf(id: SessionId): Recipient {
  return { id, hearer: null };
}
