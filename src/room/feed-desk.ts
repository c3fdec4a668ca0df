/**
 * What clients ask of the feeds of their rooms. Those of one client are answered one after the other: who makes a feed and then says something in it is
 * understood. The room is not asked, for it keeps no feeds (`feeds.ts`): ten thousand who read them cost its worker nothing.
 */
import { BoundedQueue } from '../base/bounded.ts';
import { AppError } from '../base/errors.ts';
import type { RoomId } from '../base/ids.ts';
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
  readonly roomId: string | null;
  readonly who: Who | null;
  /** Does nothing once it is closed. */
  sendNow(frames: readonly OutFrame[]): void;
}

interface FeedDeskDeps {
  /** Null where the answer is what everybody in the room is told. @throws AppError the refusal */
  readonly answer: (request: FeedRequest, by: FeedRights) => Promise<FeedAnswerMessage | FeedNewsMessage | null>;
  readonly log: Log;
}

/** Where, and by what rights, something is asked. */
export interface FeedRights {
  readonly roomId: RoomId;
  readonly permissions: Permissions;
}

/** Of one client. The SDK gives up what is not answered within five seconds. */
const WAITING_MAX = 1_000;
const WAITING_BYTES_MAX = 4 * 1024 * 1024;

export class FeedDesk {
  readonly #deps: FeedDeskDeps;
  /** Behind the request that is being answered. */
  readonly #waiting = new PassingMap<FeedAsker, BoundedQueue<FeedRequest>>();

  constructor(deps: FeedDeskDeps) {
    this.#deps = deps;
  }

  /** Never throws: what is refused is answered with the reason. */
  take(request: FeedRequest, asker: FeedAsker): void {
    const waiting = this.#waiting.get(asker);
    if (waiting === undefined) void this.#answerAll(request, asker);
    else if (!waiting.push(request, roughBytesOf(request.fields, WAITING_BYTES_MAX)))
      refuse(request, asker, new AppError('ROOM_OVERLOADED'));
  }

  async #answerAll(first: FeedRequest, asker: FeedAsker): Promise<void> {
    const waiting = new BoundedQueue<FeedRequest>({ itemsMax: WAITING_MAX, bytesMax: WAITING_BYTES_MAX });
    this.#waiting.set(asker, waiting);
    for (let request: FeedRequest | undefined = first; request !== undefined; request = waiting.shift())
      await this.#answer(request, asker);
    this.#waiting.delete(asker); // in the turn of the last look, so none falls between
  }

  async #answer(request: FeedRequest, asker: FeedAsker): Promise<void> {
    const { answer, log } = this.#deps;
    try {
      const message = await answer(request, { roomId: asker.roomId as RoomId, permissions: asker.who!.permissions });
      if (message !== null) asker.sendNow(framesOfOne(message));
    } catch (error) {
      if (!(error instanceof AppError)) log.error({ err: error, kind: request.kind }, 'feed request failed');
      refuse(request, asker, error instanceof AppError ? error : new AppError('INTERNAL_SERVER_ERROR'));
    }
  }
}

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
