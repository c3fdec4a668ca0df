/**
 * This worker's standing in the cluster: one lease at a time, and a new incarnation whenever one has lapsed.
 *
 * A lapsed lease is never renewed: what was owned under it is suspended first, and each of them is claimed anew under the new incarnation, or is lost if
 * somebody else had it meanwhile (design §4).
 */
import { AppError } from '../../base/errors.ts';
import type { Incarnation } from '../../base/ids.ts';
import type { Claim, Ownership, Refusal, Release } from './ownership.ts';
import { SqlOwnership, type SqlOwnershipDeps } from './sql-ownership.ts';

export interface MembershipDeps extends Omit<SqlOwnershipDeps, 'onLapsed'> {
  /** The actors may not be spoken for any more until each is claimed anew, under the next name. */
  readonly onLapsed: () => void;
  /** A lease was taken under this name; whoever sees the process end may declare that name dead. */
  readonly onRegistered?: (incarnation: Incarnation) => void;
}

/** How long to wait before asking again for a lease while the database is away. */
const REGISTER_AGAIN_MS = 500;

export class Membership implements Ownership {
  readonly #deps: MembershipDeps;
  #current: SqlOwnership | null = null;
  /** The name before the current one. */
  #former: Incarnation | null = null;
  #isDraining = false;
  #isOver = false;
  #cancelRetry: () => void = () => undefined;

  /** Takes the first lease. @throws AppError DATABASE_UNAVAILABLE */
  static async join(deps: MembershipDeps): Promise<Membership> {
    const membership = new Membership(deps);
    await membership.#register();
    return membership;
  }

  private constructor(deps: MembershipDeps) {
    this.#deps = deps;
  }

  get incarnation(): Incarnation {
    return this.#standing().incarnation;
  }

  /** Whether this worker holds a lease and may answer for its actors. */
  get isStanding(): boolean {
    return this.#current !== null && this.#current.duty !== 'stop';
  }

  /** How long that lasts unless the lease is renewed; 0 without one. */
  get remainingMs(): number {
    return this.#current?.remainingMs ?? 0;
  }

  claim(stream: number): Promise<Claim | Refusal> {
    return this.#standing().claim(stream);
  }

  async release(release: Release): Promise<void> {
    await this.#current?.release(release); // without a lease there is nothing left to give up
  }

  /** The database may have forgotten claims that it had granted: all are made anew, and each finds out whether it still was the last. */
  claimAnew(): void {
    this.#current?.abandon('the database may have forgotten claims');
  }

  /** Declares all other workers dead; only where something else proves it, as the lock on DATA_DIR does. */
  fenceAllOthers(): Promise<void> {
    return this.#standing().fenceAllOthers();
  }

  /** This worker takes no more actors. Never rejects: others also hear of it through the directory, and when they ask. */
  async drain(): Promise<void> {
    this.#isDraining = true;
    await this.#current
      ?.drain()
      .catch((error: unknown) => this.#deps.log.warn({ err: error }, 'drain not announced in the database'));
  }

  /** The end in order; stop all actors before. Never rejects: a lease that cannot be given up now ends by itself. */
  async leave(): Promise<void> {
    this.#isOver = true;
    this.#cancelRetry();
    const last = this.#current;
    this.#current = null;
    if (last !== null) await this.#giveUp(last);
  }

  async #giveUp(lease: SqlOwnership): Promise<void> {
    await lease.retire().catch((error: unknown) => this.#deps.log.warn({ err: error }, 'lease not given up'));
  }

  /** One at a time: what lapses before it is in use is followed by another from here, not by what follows the lapse of one in use. */
  async #register(): Promise<void> {
    const taken: { lease: SqlOwnership | null } = { lease: null };
    const lease = await SqlOwnership.register({ ...this.#deps, onLapsed: () => this.#lapsed(taken.lease) });
    taken.lease = lease;
    if (this.#isOver) return this.#giveUp(lease); // left meanwhile
    const level = this.#former === null ? 'debug' : 'info'; // the end of what 'lease lapsed' began
    if (this.#former !== null) await this.#follow(lease, this.#former);
    this.#former = lease.incarnation;
    if (this.#isOver) return this.#giveUp(lease);
    if (lease.duty === 'stop') return this.#register(); // the database took longer than a lease lasts
    this.#current = lease;
    if (this.#isDraining) void this.drain();
    this.#deps.onRegistered?.(lease.incarnation);
    this.#deps.log[level]({ incarnation: this.#current.incarnation }, 'lease taken');
  }

  /**
   * Under its former name this worker does nothing any more, so nobody need wait until that name's lease has run out, this worker least of all: actors that it
   * claims anew would be owned by another. A lease under which that cannot be said is none.
   */
  async #follow(lease: SqlOwnership, former: Incarnation): Promise<void> {
    try {
      await lease.follow(former);
    } catch (error) {
      await this.#giveUp(lease);
      throw error;
    }
  }

  #lapsed(lease: SqlOwnership | null): void {
    if (lease === null || lease !== this.#current) return;
    this.#current = null;
    this.#deps.onLapsed();
    this.#registerAgain();
  }

  #registerAgain(): void {
    if (this.#isOver) return;
    this.#register().catch((error: unknown) => {
      this.#deps.log.warn({ err: error }, 'no lease yet');
      this.#cancelRetry = this.#deps.clock.after(REGISTER_AGAIN_MS, () => this.#registerAgain());
    });
  }

  #standing(): SqlOwnership {
    if (this.#current === null)
      throw new AppError('DATABASE_UNAVAILABLE', { reason: 'this worker holds no lease at the moment' });
    return this.#current;
  }
}
