/**
 * What clients ask of the feeds of their rooms. Those of one client are answered one after the other: who makes a feed and then says something in it is
 * understood. The room is not asked, for it keeps no feeds (`feeds.ts`): ten thousand who read them cost its worker nothing.
 */
import { BoundedQueue } from '../base/bounded.ts';
import type { Clock } from '../base/clock.ts';
import { AppError } from '../base/errors.ts';
import type { RoomId, SessionId } from '../base/ids.ts';
import type { Log } from '../base/observe.ts';
import { PassingMap } from '../base/passing.ts';
import { roughBytesOf } from '../base/rough-bytes.ts';
import type { OutFrame } from '../kernel/transport/send-budget.ts';
import type { FeedRequest } from '../protocol/feeds.ts';
import type { Permissions } from '../protocol/permissions.ts';
import type { FeedAnswerMessage, FeedNewsMessage } from '../protocol/server-messages.ts';
import type { Who } from './connection-phase.ts';
import { framesOfOne } from './frames.ts';

/** The connection of a client that has entered a room. */
export interface FeedAsker {
  /** Of the session that it carries at present. */
  readonly id: SessionId;
  /** Whether it is on its way to where its room is now: there it hears nothing of changes. */
  readonly isRejoining: boolean;
  readonly roomId: string | null;
  readonly who: Who | null;
  /** Does nothing once it is closed. */
  sendNow(frames: readonly OutFrame[]): void;
}

export interface FeedAnswer {
  readonly message: FeedAnswerMessage | FeedNewsMessage;
  /** By its room, with everybody there. */
  readonly isTold: boolean;
}

interface FeedDeskDeps {
  /** @throws AppError the refusal */
  readonly answer: (request: FeedRequest, by: FeedRights) => Promise<FeedAnswer>;
  readonly clock: Pick<Clock, 'monotonicMs'>;
  readonly log: Log;
}

/** Where, and by what rights, something is asked. */
export interface FeedRights {
  readonly roomId: RoomId;
  readonly permissions: Permissions;
}

/** The SDK gives up what is not answered within five seconds, and whoever asked may ask again: what has waited so long is not done behind their back. */
const WAITS_MS_MAX = 4_000;
/** Of one client. */
const WAITING = { itemsMax: 1_000, bytesMax: 4 * 1024 * 1024 };

interface Asked {
  readonly request: FeedRequest;
  readonly atMs: number;
}

/** What one client asks. */
interface Line {
  readonly waiting: BoundedQueue<Asked>;
  isAnswering: boolean;
}

export class FeedDesk {
  readonly #deps: FeedDeskDeps;
  readonly #lines = new PassingMap<FeedAsker, Line>();

  constructor(deps: FeedDeskDeps) {
    this.#deps = deps;
  }

  /** Never throws: what is refused is answered with the reason. */
  take(request: FeedRequest, asker: FeedAsker): void {
    const line = this.#lines.get(asker) ?? { waiting: new BoundedQueue<Asked>(WAITING), isAnswering: false };
    const asked = { request, atMs: this.#deps.clock.monotonicMs() };
    if (!line.waiting.push(asked, roughBytesOf(request.fields, WAITING.bytesMax))) {
      refuse(request, asker, tooMuch());
      return;
    }
    this.#lines.set(asker, line);
    this.goOn(asker);
  }

  /** It is in its room again, or has left: what it asked before that is done all the same. */
  goOn(asker: FeedAsker): void {
    const line = this.#lines.get(asker);
    if (line?.isAnswering === false) void this.#answerAll(line, asker);
  }

  /** It was sent away: what waits is not done. */
  forget(asker: FeedAsker): void {
    this.#lines.delete(asker);
  }

  async #answerAll(line: Line, asker: FeedAsker): Promise<void> {
    line.isAnswering = true;
    while (!asker.isRejoining && this.#lines.get(asker) === line) {
      const asked = line.waiting.shift();
      if (asked === undefined) this.#lines.delete(asker);
      else await this.#answer(asked, asker);
    }
    line.isAnswering = false;
  }

  async #answer({ request, atMs }: Asked, asker: FeedAsker): Promise<void> {
    const { answer, clock, log } = this.#deps;
    const { id } = asker;
    try {
      if (clock.monotonicMs() - atMs > WAITS_MS_MAX) throw tooMuch();
      const { message, isTold } = await answer(request, { roomId: asker.roomId as RoomId, permissions: asker.who!.permissions });
      const hears = isTold && asker.id === id && !asker.isRejoining;
      if (!hears) asker.sendNow(framesOfOne(message));
    } catch (error) {
      if (!(error instanceof AppError)) log.error({ err: error, kind: request.kind }, 'feed request failed');
      refuse(request, asker, error instanceof AppError ? error : new AppError('INTERNAL_SERVER_ERROR'));
    }
  }
}

const tooMuch = (): AppError => new AppError('ROOM_OVERLOADED');

function refuse({ requestId }: FeedRequest, asker: FeedAsker, refusal: AppError): void {
  asker.sendNow(framesOfOne({ type: 'feed.refused', requestId, code: codeFor(refusal), reason: refusal.message }));
}

/** Those that the SDK knows (`FeedRequestErrorCode`); where it knows none, ours. */
function codeFor({ code, facts }: AppError): string {
  const isOfFeed = facts.kind === 'feed';
  if (code === 'RESOURCE_NOT_FOUND') return isOfFeed ? 'FEED_NOT_FOUND' : 'FEED_MESSAGE_NOT_FOUND';
  if (code === 'RESOURCE_ALREADY_EXISTS' && isOfFeed) return 'FEED_ALREADY_EXISTS';
  return code === 'INTERNAL_SERVER_ERROR' ? 'INTERNAL' : code;
}
