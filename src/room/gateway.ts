/**
 * This worker's sockets. Frames become commands to rooms, here or on other workers; deliveries find the sessions that are here, and those
 * that are not go to `elsewhere`.
 */

import { pause } from '../base/clock.ts';
import { AppError } from '../base/errors.ts';
import { asSessionId, type RoomId, type SessionId, type WorkerAddress } from '../base/ids.ts';
import { Rounds } from '../base/rounds.ts';
import type { Slices } from '../base/slices.ts';
import { withOneMore } from '../base/small.ts';
import { Turns } from '../base/turns.ts';
import type { Sheds } from '../kernel/shedding.ts';
import type { OutFrame } from '../kernel/transport/send-budget.ts';
import type { Socket, SocketHandler, UpgradeRequest } from '../kernel/transport/server.ts';
import { Connection } from './connection.ts';
import type { ConnectionBook } from './connection-book.ts';
import type { ConnectionDeps } from './connection-deps.ts';
import { Deliveries } from './deliveries.ts';
import type { Hearer, Recipient } from './recipient.ts';
import { DOWN_MS_MAX } from './rejoin.ts';
import type { SessionSink } from './remote-sessions.ts';
import { takesSockets, targetOf } from './socket-target.ts';

/** The same for all connections of this worker, and how many there may be. */
export interface GatewayDeps extends ConnectionDeps {
  /** Begins every session id of this worker. */
  readonly workerName: string;
  readonly connectionsMax: number;
  readonly sheds: Sheds;
  readonly slices: Slices;
  /** Sessions of rooms here whose sockets are on other workers. */
  readonly elsewhere: SessionSink;
}

const LOOK_EVERY_MS = 1_000;
/** Sockets that are sent away in one turn of a drain. */
const DRAIN_WAVE = 100;
/** Sockets that look at the database at one time. */
const RECONSIDERED_AT_ONCE = 16;

export class Gateway implements SessionSink, ConnectionBook {
  readonly #deps: GatewayDeps;
  readonly #connections = new Map<SessionId, Connection>();
  readonly #rounds: Rounds<SessionId, Connection>;
  readonly #deliveries: Deliveries;
  #opened = 0;
  #isDraining = false;

  constructor(deps: GatewayDeps) {
    this.#deps = deps;
    this.#deliveries = new Deliveries(deps);
    const look = (_: SessionId, connection: Connection): void => this.#look(connection);
    this.#rounds = new Rounds({ clock: deps.clock, entries: this.#connections, everyMs: LOOK_EVERY_MS, visit: look });
  }

  get size(): number {
    return this.#connections.size;
  }

  /** Whether a WebSocket upgrade on this path is taken. */
  static serves(path: string): boolean {
    return takesSockets(path);
  }

  accept(request: UpgradeRequest, socket: Socket): SocketHandler {
    const connection = new Connection(this.#deps, { socket, book: this });
    const target = targetOf(request);
    if (target === null) connection.refuse(new AppError('NOT_FOUND', { method: 'GET', path: request.path }));
    else if (this.#isDraining) connection.refuse(new AppError('SERVER_STOPPING'));
    else if (this.#isFull) connection.refuse(new AppError('WORKER_OVERLOADED'));
    else void connection.enter(target);
    return connection;
  }

  get #isFull(): boolean {
    return this.#connections.size > this.#deps.connectionsMax || this.#deps.sheds('socket');
  }

  has(session: SessionId): boolean {
    return this.#connections.has(session);
  }

  deliver(recipients: readonly Recipient[], frames: readonly OutFrame[]): Hearer | null {
    let others: Recipient[] | null = null; // in the usual case no list is made
    for (const recipient of recipients) {
      if (recipient.hearer?.carries(recipient.id) !== true) recipient.hearer = this.#connections.get(recipient.id) ?? null;
      if (recipient.hearer === null) others = withOneMore(others, recipient);
    }
    if (others !== null) this.#deps.elsewhere.deliver(others, frames);
    return this.#deliveries.deliver(recipients, frames);
  }

  closeSessions(sessions: readonly SessionId[], refusal: AppError): void {
    const others = this.#here(sessions, (connection) => connection.refuse(refusal));
    if (others.length > 0) this.#deps.elsewhere.closeSessions(others, refusal);
  }

  loseSessions(sessions: readonly SessionId[]): void {
    const others = this.#here(sessions, (connection) => connection.rejoin());
    if (others.length > 0) this.#deps.elsewhere.loseSessions(others);
  }

  /** What this worker sent to that one, or had from it, may be lost: sessions whose rooms are there join anew. */
  workerDown(address: WorkerAddress): void {
    this.#deliveries.finish();
    for (const connection of [...this.#connections.values()]) {
      if (connection.at !== address) continue;
      connection.at = null; // nothing is told there any more, and that it is found to be down once more costs no second session
      connection.rejoin(this.#deps.chance() * DOWN_MS_MAX);
    }
  }

  /** Does it for the sessions that are here; returns the others. */
  #here(sessions: readonly SessionId[], act: (connection: Connection) => void): readonly SessionId[] {
    const others: SessionId[] = [];
    for (const id of sessions) {
      const connection = this.#connections.get(id);
      if (connection === undefined) others.push(id);
      else this.#afterAllOwed(connection, act);
    }
    return others;
  }

  #afterAllOwed(connection: Connection, act: (connection: Connection) => void): void {
    if (connection.owed > 0) this.#deliveries.finish();
    act(connection);
  }

  renew(connection: Connection): SessionId {
    this.#connections.delete(connection.id);
    this.#opened += 1;
    const id = asSessionId([this.#deps.workerName, this.#opened].join('-')); // a template would keep its parts beside the whole
    this.#connections.set(id, connection);
    return id;
  }

  forget({ id }: Connection): void {
    this.#connections.delete(id);
  }

  /** The accesses of a room changed: everybody who is in it shows again what lets them in. */
  reconsider(roomId: RoomId): void {
    for (const connection of this.#connections.values()) if (connection.roomId === roomId) void connection.reconsider();
  }

  /** This worker may have missed changes of accesses: everybody here shows again what lets them in, some at a time. Never rejects. */
  async reconsiderAll(): Promise<void> {
    const turns = new Turns(RECONSIDERED_AT_ONCE);
    await Promise.all([...this.#connections.values()].map((connection) => turns.take(() => connection.reconsider())));
  }

  /**
   * Refuses newcomers and sends everybody away, spread over `spreadMs`, so that the workers they come back to are not met by all at once; SDK
   * clients come back by themselves. Resolves when all are gone.
   */
  async drain({ spreadMs }: { spreadMs: number }): Promise<void> {
    this.#isDraining = true;
    this.#rounds.stop();
    const leaving = [...this.#connections.values()];
    const waves = Math.ceil(leaving.length / DRAIN_WAVE);
    for (let wave = 0; wave < waves; wave += 1) {
      if (wave > 0) await pause(this.#deps.clock, spreadMs / waves);
      for (const connection of leaving.slice(wave * DRAIN_WAVE, (wave + 1) * DRAIN_WAVE))
        this.#afterAllOwed(connection, (one) => one.refuse(new AppError('SERVER_STOPPING')));
    }
  }

  #look(connection: Connection): void {
    const { clock, limits } = this.#deps;
    if (connection.expiresAtMs <= clock.nowMs()) connection.refuse(new AppError('TOKEN_EXPIRED'));
    else if (connection.heardAtMs < clock.monotonicMs() - limits.idleMs) connection.refuse(new AppError('CONNECTION_IDLE'));
  }
}
