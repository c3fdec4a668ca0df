/** How a room parts from its sessions: what it has for them leaves first. Whether their sockets go, or other sessions join over them, follows from the reason. */
import { AppError, type ErrorCode } from '../base/errors.ts';
import type { SessionId } from '../base/ids.ts';
import type { Fanout } from './fanout.ts';
import { JOIN_ANEW } from './policy.ts';
import type { RoomActorDeps } from './room-actor-deps.ts';
import type { RoomShell } from './room-shell.ts';
import type { Command } from './shapes.ts';

interface Around {
  readonly shell: Pick<RoomShell, 'room' | 'guarded'>;
  readonly fanout: Pick<Fanout, 'flush'>;
}

export class Partings {
  readonly #deps: Pick<RoomActorDeps, 'sessions' | 'log'>;
  readonly #around: Around;

  constructor(deps: Pick<RoomActorDeps, 'sessions' | 'log'>, around: Around) {
    this.#deps = deps;
    this.#around = around;
  }

  /** A refused message costs the session that sent it its socket; a session that is not known joins anew. False when no session sent it. */
  refuse(command: Command, error: unknown): boolean {
    const { id: roomId } = this.#around.shell.room;
    if (!(error instanceof AppError)) this.#deps.log.error({ err: error, roomId, command: command.type }, 'decision failed');
    if (!('from' in command) || command.from === null) return false;
    const refusal = error instanceof AppError ? error : new AppError('INTERNAL_SERVER_ERROR');
    if (JOIN_ANEW.has(refusal.code)) this.#lose([command.from]);
    else this.#close([command.from], refusal);
    return true;
  }

  close(session: SessionId | 'everyone', code: ErrorCode, facts: Record<string, unknown>): void {
    this.#close(session === 'everyone' ? this.#everyone : [session], new AppError(code, facts));
  }

  /** Whoever is there joins anew, wherever the room is then. */
  loseEveryone(): void {
    this.#lose(this.#everyone);
  }

  get #everyone(): SessionId[] {
    return [...this.#around.shell.room.sessions.keys()];
  }

  #close(sessions: readonly SessionId[], refusal: AppError): void {
    this.#flush();
    this.#deps.sessions.closeSessions(sessions, refusal);
  }

  #lose(sessions: readonly SessionId[]): void {
    this.#flush();
    this.#deps.sessions.loseSessions(sessions);
  }

  #flush(): void {
    const { shell, fanout } = this.#around;
    shell.guarded(() => fanout.flush());
  }
}
