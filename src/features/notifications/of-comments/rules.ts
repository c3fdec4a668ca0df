/** Who is notified of a comment. Pure: the consumer of the outbox asks it for each user who may be concerned. */
import { allows, permissionsFromRoom, type RoomAccesses } from '../../../protocol/permissions.ts';

/** Which comments of a room a user wants to be notified of. */
export type ThreadsSetting = 'all' | 'replies_and_mentions' | 'none';

/** A user whom a comment may concern, and what they said of the thread and its room. */
export interface Listener {
  readonly userId: string;
  /** By id, or through a group. In an edited comment: not before. */
  readonly isMentioned: boolean;
  /** Wrote a comment of the thread, or was mentioned in one by id. */
  readonly takesPart: boolean;
  /** By calling subscribe or unsubscribe; null: said nothing. */
  readonly isSubscribed: boolean | null;
  /** For the room; null: nothing. */
  readonly threads: ThreadsSetting | null;
  /** Whether the thread was spoken of after the room, where both were. */
  readonly saidOfThreadLast: boolean;
  readonly mayRead: MayRead;
}

/** `unknown`: the room's own lists do not say, and nothing else shows it. */
export type MayRead = 'yes' | 'no' | 'unknown';

/**
 * Whether a user is notified of a comment, or of an edit, which is news to those alone whom it mentions.
 *
 * The author never is, nor who may not read the thread. Of a subscription to the thread and a setting for the room the later call counts: who
 * is subscribed, or wants all, hears of every comment; who unsubscribed only of mentions; who wants none of nothing; all others of replies in
 * threads they take part in, and of mentions.
 */
export function isNotified(listener: Listener, { author, what, byDefault }: News): boolean {
  if (listener.userId === author || listener.mayRead === 'no') return false;
  const wish = wishOf(listener, byDefault);
  if (wish === 'none') return false;
  return (
    listener.isMentioned || (what === 'comment' && (wish === 'all' || (wish === 'replies and mentions' && listener.takesPart)))
  );
}

export interface News {
  readonly author: string;
  readonly what: 'comment' | 'edit';
  /** Of who set nothing for the room. */
  readonly byDefault: ThreadsSetting;
}

type Wish = 'all' | 'replies and mentions' | 'mentions' | 'none';

function wishOf({ isSubscribed, threads, saidOfThreadLast }: Listener, byDefault: ThreadsSetting): Wish {
  if (isSubscribed !== null && (threads === null || saidOfThreadLast)) return isSubscribed ? 'all' : 'mentions';
  const setting = threads ?? byDefault;
  return setting === 'replies_and_mentions' ? 'replies and mentions' : setting;
}

/**
 * Whether a user may read threads (or texts) of a room, as far as the server can know without a token at hand.
 *
 * The room's lists come first: what they give to everyone or to this user is `yes`; what the user's own list withholds, and no group could
 * give, is `no`. Which groups a user is in stands in tokens alone, so what a group could give is not known. Then what the user has shown: whom
 * the last token let read threads of this visibility here, or who wrote in one, may; whom it did not, perhaps may, if the lists say so. A room
 * without any lists is one whose users have access tokens: there public threads are for those who are told of them, and private ones are
 * `unknown`. In a room with lists whoever is in none may not read.
 */
export function mayRead(accesses: RoomAccesses, { userId, resource, shown }: Reading): MayRead {
  const as = (groupIds: readonly string[]) => allows(permissionsFromRoom(accesses, { userId, groupIds }), resource, 'read');
  if (as([])) return shown === false ? 'unknown' : 'yes';
  const groups = Object.keys(accesses.groupsAccesses);
  const couldRead = groups.some((groupId) => as([groupId]));
  if (!couldRead && Object.hasOwn(accesses.usersAccesses, userId)) return 'no';
  if (shown === true) return 'yes';
  if (couldRead) return 'unknown';
  const hasLists = accesses.defaultAccesses.length > 0 || groups.length > 0 || Object.keys(accesses.usersAccesses).length > 0;
  if (hasLists) return 'no';
  return resource === 'comments:private' || shown === false ? 'unknown' : 'yes';
}

interface Reading {
  readonly userId: string;
  readonly resource: 'comments:public' | 'comments:private' | 'storage';
  /** By a token, or by having written; null: nothing. */
  readonly shown: boolean | null;
}
