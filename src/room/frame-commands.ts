/** What a client's frame asks of its room, for both kinds of client. */
import { AppError } from '../base/errors.ts';
import type { SessionId } from '../base/ids.ts';
import { type ClientMessage, decodeSdkFrame, encodeBroadcasts } from '../protocol/client-messages.ts';
import type { FeedRequest } from '../protocol/feeds.ts';
import { decodeYjsFrame, type YjsClientFrame } from '../protocol/yjs-frames.ts';
import type { Command } from './shapes.ts';
import type { SocketTarget } from './socket-target.ts';
import { fromV2 } from './ydoc/from-v2.ts';

interface Sender {
  readonly kind: SocketTarget['kind'];
  readonly from: SessionId;
  /** Refuses it when it may not say so many messages more. */
  readonly rate: { isWithinRate(messages: number): boolean };
}

interface Said {
  readonly commands: Command[];
  /** What the room is not asked. */
  readonly requests: readonly FeedRequest[];
}

const NONE: readonly FeedRequest[] = [];

/** Nothing when it may not say so much. @throws AppError FRAME_INVALID, YJS_UPDATE_INVALID */
export function saidIn(data: string | Uint8Array, { kind, from, rate }: Sender): Said {
  if (kind === 'yjs') return { commands: yjsCommands(data, from), requests: NONE };
  const commands: Command[] = [];
  const requests: FeedRequest[] = [];
  for (const message of sdkMessages(data)) {
    if (message.type === 'feed.request') {
      requests.push(message.request);
    } else if (message.type === 'ydoc.change' && message.encoding === 'V2') {
      const { update, messages } = fromV2(message.update);
      if (messages > 0 && !rate.isWithinRate(messages)) return { commands: [], requests: NONE };
      commands.push({ type: 'ydoc.change', from, guid: message.guid, update });
    } else {
      commands.push(commandOf(message, from));
    }
  }
  return { commands, requests };
}

/** A frame of the events among these, which another session may say; null when there are none. */
export function eventsFrame(commands: readonly Command[]): string | null {
  const events = commands.flatMap((command) => (command.type === 'event.broadcast' ? [command.event] : []));
  return events.length === 0 ? null : encodeBroadcasts(events);
}

/** Readers that were slow together, for one reason, do not all ask in one moment; and one that is slow again and again asks about twice a second. */
export const CATCH_UP_MS_MAX = 1_000;

/** Asks where all others are, for a client that was too slow to hear of every step. */
export function askForOthers(kind: SocketTarget['kind'], from: SessionId): Command {
  return { type: kind === 'sdk' ? 'presence.fetch' : 'awareness.fetch', from };
}

/** Binary frames mean nothing to the SDK's protocol and are passed over. */
function sdkMessages(data: string | Uint8Array): ClientMessage[] {
  return typeof data === 'string' ? decodeSdkFrame(data) : [];
}

function commandOf(message: Exclude<ClientMessage, { type: 'feed.request' }>, from: SessionId): Command {
  switch (message.type) {
    case 'presence':
      return { type: 'presence.patch', from, data: message.data, targetActor: message.targetActor };
    case 'broadcast':
      return { type: 'event.broadcast', from, event: message.event };
    case 'storage.fetch':
      return { type: 'storage.fetch', from };
    case 'storage.change':
      return { type: 'storage.change', from, ops: message.ops };
    case 'ydoc.fetch':
      return fetchOf(message, from);
    case 'ydoc.change':
      return { type: 'ydoc.change', from, guid: message.guid, update: message.update };
    default:
      return message satisfies never;
  }
}

function fetchOf({ guid, vector, encoding }: Extract<ClientMessage, { type: 'ydoc.fetch' }>, from: SessionId): Command {
  return encoding === null ? { type: 'ydoc.fetch', from, guid, vector } : { type: 'ydoc.fetch', from, guid, vector, encoding };
}

function yjsCommands(data: string | Uint8Array, from: SessionId): Command[] {
  if (typeof data === 'string') throw new AppError('FRAME_INVALID', { reason: 'a Yjs client speaks in binary frames' });
  return [yjsCommandOf(decodeYjsFrame(data), from)];
}

function yjsCommandOf(frame: YjsClientFrame, from: SessionId): Command {
  switch (frame.type) {
    case 'step1':
      return { type: 'ydoc.fetch', from, guid: '', vector: frame.vector };
    case 'update':
      return { type: 'ydoc.change', from, guid: '', update: frame.update };
    case 'awareness':
      return { type: 'awareness.change', from, update: frame.update };
    case 'query-awareness':
      return { type: 'awareness.fetch', from };
    default:
      return frame satisfies never;
  }
}
