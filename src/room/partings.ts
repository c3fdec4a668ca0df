/** How a room parts from its sessions: what it has for them leaves first. Whether their sockets go, or other sessions join over them, follows from the reason. */
import { AppError } from '../base/errors.ts';
import type { SessionId } from '../base/ids.ts';
import { SmallSet } from '../base/small.ts';
import type { Fanout } from './fanout.ts';
import { JOIN_ANEW } from './policy.ts';
import type { RoomActorDeps } from './room-actor-deps.ts';
import type { RoomShell } from './room-shell.ts';
import type { Command, Effect } from './shapes.ts';

interface Around {
  readonly shell: Pick<RoomShell, 'room' | 'guarded'>;
  readonly fanout: Pick<Fanout, 'flush'>;
}

export class Partings {
  readonly #deps: Pick<RoomActorDeps, 'sessions' | 'log'>;
  readonly #around: Around;
  /** Documents of which the log has it; each change of one says it again. Null while there are none. */
  #unreadable: Set<string> | null = null;

  constructor(deps: Pick<RoomActorDeps, 'sessions' | 'log'>, around: Around) {
    this.#deps = deps;
    this.#around = around;
  }

  /** A refused message costs the session that sent it its socket; a session that is not known joins anew. False when no session sent it. */
  refuse(command: Command, error: unknown): boolean {
    const { id: roomId } = this.#around.shell.room;
    if (!(error instanceof AppError)) this.#deps.log.error({ err: error, roomId, command: command.type }, 'decision failed');
    if (!('from' in command) || command.from === null) return false;
    const refusal = asRefusal(error);
    if (JOIN_ANEW.has(refusal.code)) this.#lose([command.from]);
    else this.#close([command.from], refusal);
    return true;
  }

  perform(effect: Extract<Effect, { type: 'close' | 'unreadable' }>): void {
    if (effect.type === 'unreadable') {
      this.#tellUnreadable(effect);
      return;
    }
    const { session, code, facts } = effect;
    this.#close(session === 'everyone' ? this.#everyone : [session], new AppError(code, facts));
  }

  /** Who asked hears the same as if the question had been answered at once. */
  #tellUnreadable({ guid, askedBy, error }: Extract<Effect, { type: 'unreadable' }>): void {
    this.#unreadable ??= new SmallSet();
    if (!this.#unreadable.has(guid))
      this.#deps.log.error({ err: error, roomId: this.#around.shell.room.id, guid }, 'document unreadable');
    this.#unreadable.add(guid);
    if (askedBy !== null) this.#close([askedBy], asRefusal(error));
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

function asRefusal(error: unknown): AppError {
  return error instanceof AppError ? error : new AppError('INTERNAL_SERVER_ERROR');
}
