/**
 * Brings a command to the one worker that may decide it: this one, the one that has the actor, or the one that should take it.
 *
 * Where an actor is, is only believed here (memory, directory, database row); the claim decides. A wrong belief costs a refusal that names
 * the owner, or a connection that fails, and the search goes on until the deadline. What may have had its effect is sent again only when
 * it can be: `isRepeatable` says so.
 */
import { type Clock, pause } from '../../base/clock.ts';
import { AppError } from '../../base/errors.ts';
import { asWorkerAddress, type WorkerAddress } from '../../base/ids.ts';
import type { ActorHost } from '../actor/actor-host.ts';
import type { Line } from '../actor/slot.ts';
import type { Bus, Message } from './bus.ts';
import type { Directory } from './directory.ts';
import { Locations } from './locations.ts';
import { preferredWorker } from './placement.ts';
import type { Workers } from './workers.ts';

export interface RouterDeps<Command> {
  readonly host: ActorHost<Command>;
  readonly bus: Bus;
  readonly directory: Directory;
  readonly workers: Workers;
  readonly clock: Clock;
  /** Where the database says the actor is, if its owner's lease is valid. */
  readonly findOwner: (key: string) => Promise<WorkerAddress | null>;
  /** Whether the command may be decided twice: it changes nothing, or is recognised when it comes again. */
  readonly isRepeatable: (command: Command) => boolean;
  /** Whether it has no effect that could be in doubt. */
  readonly isRead: (command: Command) => boolean;
  /** Milliseconds by which its answer may come later than that of others. */
  readonly extraMs: (command: Command) => number;
  /** Hears of each command from another worker before it is decided. @throws AppError when it cannot be decided here, whatever the actor says */
  readonly onForwarded: (key: string, command: Command, from: WorkerAddress) => void;
  /** A command that was told could not be handed over: there is no such actor here. */
  readonly onUndelivered: (command: Command, from: WorkerAddress) => void;
}

/** Longest search for an owner: longer than the lease of one that died (4.25 s), shorter than what callers wait. */
const DEADLINE_MS = 10_000;
/** One worker gets so long for one answer; a room that loads from a slow blob store needs seconds. */
const ANSWER_MS = 8_000;
/** One that could not be reached just now answers soon, or is dead or frozen; its actors are claimed the sooner the less is waited for it. */
const SUSPECT_MS = 400;
/** The same where the question is asked again until it is answered. */
const THERE_MS = 1_000;
const RETRY_FIRST_MS = 10;
const RETRY_MS_MAX = 200;

const ASK = 'actor.ask';
const ASK_IF_AWAKE = 'actor.ask-if-awake';
const TELL = 'actor.tell';

export class Router<Command> {
  readonly #deps: RouterDeps<Command>;
  readonly #locations = new Locations();
  /** Searches under way: all that is asked of one actor meanwhile shares one. */
  readonly #searches = new Map<string, Promise<WorkerAddress | null>>();

  constructor(deps: RouterDeps<Command>) {
    this.#deps = deps;
  }

  /** Whether a message of the bus is for this router. */
  static isFor({ kind }: Message): boolean {
    return kind.startsWith('actor.');
  }

  /**
   * Hands `command` to the owner of `key`, wherever it is; an actor that nobody owns is claimed by the worker that should have it.
   * @throws AppError the refusal of the command; OUTCOME_UNKNOWN when it may have had its effect, or is a read that nothing was heard of; ROOM_MOVED, WORKER_UNREACHABLE,
   * ROOM_OVERLOADED, WORKER_OVERLOADED, DATABASE_UNAVAILABLE, SERVER_STOPPING when it had none: safe to retry.
   */
  async ask(key: string, command: Command): Promise<unknown> {
    const { clock, host } = this.#deps;
    const endMs = clock.monotonicMs() + DEADLINE_MS + this.#deps.extraMs(command);
    let waitMs = RETRY_FIRST_MS;
    let mayBeDone = false;
    for (;;) {
      const at = host.isAwake(key) ? null : await this.#find(key);
      try {
        return at === null ? await host.ask(key, command) : await this.#forward(at, { key, command, endMs });
      } catch (error) {
        mayBeDone ||= isUnknown(error) && !this.#deps.isRead(command);
        if (!this.#mayTryAgain(error, { key, command, at }) || clock.monotonicMs() + waitMs > endMs)
          throw mayBeDone ? asUnknown(error) : error;
      }
      await this.#pause(waitMs);
      waitMs = Math.min(waitMs * 2, RETRY_MS_MAX);
    }
  }

  /**
   * The same, but null when the actor sleeps: it is not woken. What is remembered and hinted may be wrong, and a worker that has just started may
   * not have heard of the others, so that it sleeps is said only when the database knows of no other owner.
   */
  async askIfAwake(key: string, command: Command): Promise<{ readonly reply: unknown } | null> {
    const { host, bus, findOwner } = this.#deps;
    if (host.isAwake(key)) return { reply: await host.ask(key, command) };
    const hinted = this.#locations.get(key) ?? (await this.#hintFor(key));
    let failure: unknown = null;
    if (hinted !== null && hinted !== bus.address) {
      const answer = await this.#askAwake(hinted, key, command).catch((error: unknown) => {
        if (!wasNotSent(error)) throw error;
        failure = error;
        return null;
      });
      if (answer !== null) return answer;
      this.#locations.forget(key);
    }
    const owner = await findOwner(key);
    if (owner === hinted && failure !== null) throw failure;
    return owner === null || owner === hinted || owner === bus.address ? null : this.#askAwake(owner, key, command);
  }

  async #askAwake(at: WorkerAddress, key: string, command: Command): Promise<{ readonly reply: unknown } | null> {
    const answer = await this.#deps.bus.ask(at, { kind: ASK_IF_AWAKE, payload: [key, command] }, { deadlineMs: ANSWER_MS });
    return answer as { readonly reply: unknown } | null;
  }

  /**
   * Hands `command` to the actor without waiting: to the worker where it took in whoever says this, else along the way that an earlier `ask` found.
   * False when there is none: nothing was sent. A question of anybody that fails makes all forget that way, or begins to load the actor here; but it may
   * still be where it was, and who has joined is known there only. If it is not, they hear that from there (`onUndelivered`).
   * Plain calls all the way, because socket frames come this way until they have a line (`ActorHost.lineTo`).
   */
  tell(key: string, command: Command, joinedAt: WorkerAddress | null = null): boolean {
    if (joinedAt === null && this.#deps.host.tell(key, command)) return true;
    const at = joinedAt ?? this.#locations.get(key);
    if (at === undefined) return false;
    this.#deps.bus.tell(at, { kind: TELL, payload: [key, command] });
    return true;
  }

  /** The way to the actor, if it is awake on this worker. */
  lineTo(key: string): Line<Command> | null {
    return this.#deps.host.lineTo(key);
  }

  /** Hands `command` to the actor if it is awake anywhere; whether it was. Never rejects: what could not be handed on is dropped. */
  async tellIfAwake(key: string, command: Command): Promise<boolean> {
    if (this.#deps.host.tell(key, command)) return true;
    return (await this.askIfAwake(key, command).catch(() => null)) !== null;
  }

  /** Hands it to the actor at that worker, if there is one: what is done there has been done when this resolves. @throws AppError as `Bus.ask` */
  async askThere(at: WorkerAddress, key: string, command: Command): Promise<void> {
    const { host, bus } = this.#deps;
    if (at === bus.address) await (host.isAwake(key) ? host.ask(key, command) : null);
    else await bus.ask(at, { kind: ASK_IF_AWAKE, payload: [key, command] }, { deadlineMs: THERE_MS });
  }

  /** The worker that commands for `key` are told to; null for this one, or when none is known. */
  locationOf(key: string): WorkerAddress | null {
    return this.#deps.host.isAwake(key) ? null : (this.#locations.get(key) ?? null);
  }

  /** That worker fell out of touch: nothing is known to be there, and others are asked first. */
  down(address: WorkerAddress): void {
    this.#unreachable(address);
  }

  /** Decides what another worker forwarded. It is never forwarded on: the answer names the owner instead. */
  async handle({ kind, payload }: Message, from: WorkerAddress): Promise<unknown> {
    const { host } = this.#deps;
    const [key, command] = payload as [string, Command];
    this.#deps.onForwarded(key, command, from);
    if (kind === ASK) return host.ask(key, command);
    if (kind === ASK_IF_AWAKE) return host.isAwake(key) ? { reply: await host.ask(key, command) } : null;
    if (!host.tell(key, command)) this.#deps.onUndelivered(command, from);
    return null;
  }

  async #forward(at: WorkerAddress, { key, command, endMs }: { key: string; command: Command; endMs: number }): Promise<unknown> {
    const { bus, clock, workers, extraMs } = this.#deps;
    const answerMs = workers.isSuspect(at) ? SUSPECT_MS : ANSWER_MS + extraMs(command);
    const deadlineMs = Math.max(1, Math.min(answerMs, endMs - clock.monotonicMs()));
    const reply = await bus.ask(at, { kind: ASK, payload: [key, command] }, { deadlineMs });
    workers.trust(at);
    this.#locations.set(key, at);
    return reply;
  }

  /** The worker to ask; null for this one. */
  async #find(key: string): Promise<WorkerAddress | null> {
    if (this.#isAlone) return null;
    const known = this.#searches.get(key);
    if (known !== undefined) return known;
    const search = this.#search(key).finally(() => this.#searches.delete(key));
    this.#searches.set(key, search);
    return search;
  }

  async #search(key: string): Promise<WorkerAddress | null> {
    const { bus, workers } = this.#deps;
    const at = (await this.#findOwner(key)) ?? preferredWorker(key, workers.candidates) ?? bus.address;
    return at === bus.address ? null : at;
  }

  /** Whoever is said to have the actor, unless that worker could not be reached just now. */
  async #findOwner(key: string): Promise<WorkerAddress | null> {
    const known = this.#locations.get(key);
    if (known !== undefined) return known;
    const hint = await this.#hintFor(key);
    if (hint !== null) return hint;
    const owner = await this.#deps.findOwner(key).catch(() => null);
    return owner === null || this.#isOut(owner) ? null : owner;
  }

  async #hintFor(key: string): Promise<WorkerAddress | null> {
    const hint = await this.#deps.directory.locate(key).catch(() => null);
    return hint === null || this.#isOut(hint.address) ? null : hint.address;
  }

  #isOut(address: WorkerAddress): boolean {
    return this.#deps.workers.isSuspect(address);
  }

  get #isAlone(): boolean {
    return this.#deps.workers.others.length === 0 && this.#locations.isEmpty;
  }

  /** Draws the conclusion from a failure; false when it is for the caller to hear. */
  #mayTryAgain(error: unknown, tried: { key: string; command: Command; at: WorkerAddress | null }): boolean {
    if (!(error instanceof AppError)) return false;
    const { workers, bus } = this.#deps;
    switch (error.code) {
      case 'ROOM_MOVED':
        this.#movedTo(tried.key, error.facts.at);
        return true;
      case 'SERVER_STOPPING':
        this.#locations.forget(tried.key);
        if (tried.at !== null) workers.suspect(tried.at);
        return tried.at !== null || workers.candidates.some(({ address }) => address !== bus.address);
      case 'DATABASE_UNAVAILABLE':
        if (tried.at === null) return false;
        this.#locations.forget(tried.key);
        workers.suspect(tried.at); // others may reach it, and take over
        return true;
      case 'WORKER_UNREACHABLE':
        if (tried.at !== null) this.#unreachable(tried.at);
        return true;
      case 'OUTCOME_UNKNOWN':
        this.#locations.forget(tried.key);
        return this.#deps.isRepeatable(tried.command);
      default:
        return false;
    }
  }

  /** The database names the owner: it is asked even under suspicion, because nobody else can have the actor before its lease is over. */
  #movedTo(key: string, owner: unknown): void {
    this.#locations.forget(key);
    if (typeof owner === 'string' && owner !== this.#deps.bus.address) this.#locations.set(key, asWorkerAddress(owner));
  }

  #unreachable(at: WorkerAddress): void {
    this.#deps.workers.suspect(at);
    this.#locations.forgetAll(at);
  }

  #pause(ms: number): Promise<void> {
    return pause(this.#deps.clock, ms);
  }
}

function wasNotSent(error: unknown): boolean {
  return error instanceof AppError && error.code === 'WORKER_UNREACHABLE';
}

function isUnknown(error: unknown): boolean {
  return error instanceof AppError && error.code === 'OUTCOME_UNKNOWN';
}

/** A later attempt that could not be made says nothing of the earlier one; one that was decided does. */
function asUnknown(error: unknown): unknown {
  return error instanceof AppError && error.retry ? new AppError('OUTCOME_UNKNOWN') : error;
}
