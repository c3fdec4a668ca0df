import { AppError } from '../base/errors.ts';
import { asSessionId, type RoomId, type SessionId } from '../base/ids.ts';
import type { Socket, SocketHandler, UpgradeRequest } from '../kernel/transport/server.ts';
import { Connection, type ConnectionDeps } from './connection.ts';
import type { Deliver } from './fanout.ts';
import { targetOf } from './socket-target.ts';

/** The same for all connections of this worker, and how many there may be. */
export interface GatewayDeps extends ConnectionDeps {
  /** Begins every session id of this worker. */
  readonly workerName: string;
  readonly connectionsMax: number;
}

const SWEEP_EVERY_MS = 1_000;

export class Gateway {
  readonly #deps: GatewayDeps;
  readonly #connections = new Map<SessionId, Connection>();
  readonly #stopSweeping: () => void;
  #opened = 0;
  #isDraining = false;

  constructor(deps: GatewayDeps) {
    this.#deps = deps;
    this.#stopSweeping = deps.clock.every(SWEEP_EVERY_MS, () => this.#sweep());
  }

  get size(): number {
    return this.#connections.size;
  }

  /** Whether a WebSocket upgrade on this path leads anywhere. */
  static serves(path: string): boolean {
    return targetOf({ path, query: '' }) !== null;
  }

  accept(request: UpgradeRequest, socket: Socket): SocketHandler {
    this.#opened += 1;
    const id = asSessionId(`${this.#deps.workerName}-${this.#opened}`);
    const connection = new Connection({ ...this.#deps, id, socket, onClosed: () => this.#connections.delete(id) });
    const target = targetOf(request);
    if (target === null) connection.refuse(new AppError('NOT_FOUND', { method: 'GET', path: request.path }));
    else if (this.#isDraining) connection.refuse(new AppError('SERVER_STOPPING'));
    else if (this.#connections.size >= this.#deps.connectionsMax) connection.refuse(new AppError('ROOM_OVERLOADED'));
    else {
      this.#connections.set(id, connection);
      void connection.enter(target);
    }
    return connection;
  }

  /** Hands frames to the sessions that are here. */
  readonly deliver: Deliver = (sessions, frames) => {
    for (const id of sessions) this.#connections.get(id)?.send(frames);
  };

  closeSessions(sessions: readonly SessionId[], refusal: AppError): void {
    for (const id of sessions) this.#connections.get(id)?.refuse(refusal);
  }

  /** The accesses of a room changed: everybody who is in it shows again what lets them in. */
  reconsider(roomId: RoomId): void {
    for (const connection of this.#connections.values()) if (connection.roomId === roomId) void connection.reconsider();
  }

  /** Refuses newcomers and sends everybody away; SDK clients come back by themselves. */
  drain(): void {
    this.#isDraining = true;
    this.#stopSweeping();
    this.closeSessions([...this.#connections.keys()], new AppError('SERVER_STOPPING'));
  }

  #sweep(): void {
    const nowMs = this.#deps.clock.nowMs();
    const idleBeforeMs = this.#deps.clock.monotonicMs() - this.#deps.limits.idleMs;
    for (const connection of this.#connections.values()) {
      if (connection.expiresAtMs <= nowMs) connection.refuse(new AppError('TOKEN_EXPIRED'));
      else if (connection.heardAtMs < idleBeforeMs) connection.refuse(new AppError('CONNECTION_IDLE'));
    }
  }
}
