/**
 * A room is a function: `decide(room, command, ctx) → effects`. Synchronous, so a loaded room needs no lock.
 *
 * Every refusal is an `AppError` thrown before the first change. What is decided of each concern lives beside this file; none knows sockets,
 * the journal or other workers.
 */
import type { RoomId } from '../base/ids.ts';
import { SmallMap, SmallSet } from '../base/small.ts';
import { decideAwareness, decideAwarenessFetch } from './awareness.ts';
import { requestOf } from './command-kinds.ts';
import { decideCommentsTell } from './comments.ts';
import { decideFeedsTell } from './feeds.ts';
import { decideHistoryKeep, decideHistorySettle, emptyHistory } from './history.ts';
import { decideOnce } from './once.ts';
import {
  decideBroadcast,
  decidePresence,
  decidePresenceFetch,
  decidePresenceSet,
  decideTick,
  decideUsersList,
} from './presence.ts';
import { RecentRequests } from './recent-requests.ts';
import { decideSchemaAttach, decideSchemaDetach } from './schema/decide.ts';
import { decideClose, decideDepart, decideGone, decideJoin, decideLeave, decidePermit } from './sessions.ts';
import { decideSessionsDismiss, decideSessionsList } from './sessions-list.ts';
import type { Command, DecideContext, Effect, RoomState } from './shapes.ts';
import {
  decideStorageChange,
  decideStorageDelete,
  decideStorageFetch,
  decideStorageInitialize,
  decideStorageNodes,
  decideStoragePatch,
  decideStorageRead,
  decideStorageRefers,
  decideStorageSend,
} from './storage/decide.ts';
import { emptyStorage } from './storage/tree.ts';
import {
  decideLateYdocs,
  decideYdocChange,
  decideYdocFetch,
  decideYdocJson,
  decideYdocRead,
  decideYdocSettle,
} from './ydoc/decide.ts';

/** A room that nobody has entered yet; the block of numbers is what its claim reserved. */
export function emptyRoom(id: RoomId, numbers: { from: number; to: number }): RoomState {
  return {
    id,
    version: 0,
    decision: 0,
    numbers: { next: numbers.from, reservedTo: numbers.to, claimedTo: numbers.to, reservedAt: 0 },
    sessions: new Map(),
    headcount: { sdk: 0, yjs: 0, rest: 0 },
    storage: emptyStorage(),
    schema: null,
    claim: { stream: 0, epoch: 0 },
    restIds: null,
    ydocs: new SmallMap(),
    unsettled: new SmallSet(),
    history: emptyHistory(),
    requests: new RecentRequests(),
    awareness: new SmallMap(),
    departed: null,
    feedsTold: null,
    lateCopies: null,
    lateAnswers: null,
  };
}

/** @throws AppError the refusal of the command; the room is then as it was. */
export function decide(room: RoomState, command: Command, ctx: DecideContext): Effect[] {
  room.decision += 1;
  const request = requestOf(command);
  if (request === null) return decideAnew(room, command, ctx);
  return decideOnce(room, command, { request, nowMs: ctx.nowMs, decideAnew: () => decideAnew(room, command, ctx) });
}

function decideAnew(room: RoomState, command: Command, ctx: DecideContext): Effect[] {
  switch (command.type) {
    case 'session.join':
      return decideJoin(room, command, ctx);
    case 'session.leave':
      return decideLeave(room, command);
    case 'sessions.gone':
      return decideGone(room, command);
    case 'sessions.depart':
      return decideDepart(room, command);
    case 'session.permit':
      return decidePermit(room, command);
    case 'presence.patch':
      return decidePresence(room, command, ctx);
    case 'presence.fetch':
      return decidePresenceFetch(room, command);
    case 'event.broadcast':
      return decideBroadcast(room, command);
    case 'storage.fetch':
      return decideStorageFetch(room, command);
    case 'storage.change':
      return decideStorageChange(room, command);
    case 'ydoc.fetch':
      return decideYdocFetch(room, command, ctx);
    case 'ydoc.change':
      return decideYdocChange(room, command, ctx);
    case 'ydoc.settle':
      return decideYdocSettle(room);
    case 'awareness.change':
      return decideAwareness(room, command, ctx);
    case 'awareness.fetch':
      return decideAwarenessFetch(room, command);
    case 'users.list':
      return decideUsersList(room);
    case 'sessions.list':
      return decideSessionsList(room, command);
    case 'sessions.dismiss':
      return decideSessionsDismiss(room, command);
    case 'presence.set':
      return decidePresenceSet(room, command, ctx);
    case 'storage.read':
      return decideStorageRead(room, command);
    case 'storage.refers':
      return decideStorageRefers(room, command);
    case 'storage.initialize':
      return decideStorageInitialize(room, command);
    case 'storage.delete':
      return decideStorageDelete(room);
    case 'storage.patch':
      return decideStoragePatch(room, command);
    case 'storage.nodes':
      return decideStorageNodes(room);
    case 'storage.send':
      return decideStorageSend(room, command);
    case 'schema.attach':
      return decideSchemaAttach(room, command);
    case 'schema.detach':
      return decideSchemaDetach(room, command);
    case 'history.keep':
      return decideHistoryKeep(room, command, ctx);
    case 'history.settle':
      return decideHistorySettle(room, command);
    case 'ydoc.read':
      return decideYdocRead(room, command);
    case 'ydoc.json':
      return decideYdocJson(room, command);
    case 'comments.tell':
      return decideCommentsTell(command);
    case 'feeds.tell':
      return decideFeedsTell(room, command);
    case 'room.close':
      return decideClose(command);
    case 'room.touch':
      return [{ type: 'reply', value: null, when: 'now' }];
    case 'clock.tick':
      return [...decideTick(room, ctx), ...decideLateYdocs(room)];
    default:
      return command satisfies never;
  }
}
