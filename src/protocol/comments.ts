/**
 * Threads and comments as all clients read them (contract, Thread and Comment; supplement 1.7 and 2.4; protocol 7.3), and what a comment says of
 * others: whom it mentions.
 */
import Type, { type Static } from 'typebox';

/** Longest and most of what a thread or comment may carry (contract, Limits; supplement 1.7). */
export const COMMENT_LIMITS = {
  metadataEntriesMax: 50,
  metadataKeyLengthMax: 40,
  metadataTextLengthMax: 4_000,
  attachmentsMax: 10,
} as const;

/** `th_`, `cm_` and `at_`: made by clients, else by us. */
const madeId = (prefix: string) => `^${prefix}[A-Za-z0-9_-]{21}$`;
export const THREAD_ID_PATTERN = madeId('th_');
export const COMMENT_ID_PATTERN = madeId('cm_');
export const ATTACHMENT_ID_PATTERN = madeId('at_');

const flag = Type.Optional(Type.Boolean());
/** A run of text; no `type`. */
const TextNode = Type.Object(
  { text: Type.String(), bold: flag, italic: flag, strikethrough: flag, code: flag },
  { additionalProperties: false },
);
const LinkNode = Type.Object({ type: Type.Literal('link'), url: Type.String(), text: Type.Optional(Type.String()) });
/** Of a user, unless `kind` says group; then `userIds` may name those that the client took to be in it. */
const MentionNode = Type.Object({
  type: Type.Literal('mention'),
  id: Type.String(),
  kind: Type.Optional(Type.Union([Type.Literal('user'), Type.Literal('group')])),
  userIds: Type.Optional(Type.Array(Type.String())),
});
const Paragraph = Type.Object({
  type: Type.Literal('paragraph'),
  children: Type.Array(Type.Union([TextNode, LinkNode, MentionNode])),
});

export const CommentBody = Type.Object(
  { version: Type.Literal(1), content: Type.Array(Paragraph) },
  { additionalProperties: false },
);
export type CommentBody = Static<typeof CommentBody>;

const MetadataValue = Type.Union([Type.String(), Type.Number(), Type.Boolean()]);
export const CommentMetadata = Type.Record(Type.String(), MetadataValue);
export type CommentMetadata = Static<typeof CommentMetadata>;

export type Visibility = 'public' | 'private';

export interface Reaction {
  readonly emoji: string;
  readonly createdAt: string;
  readonly userId: string;
}

export interface Attachment {
  readonly type: 'attachment';
  readonly id: string;
  readonly name: string;
  readonly size: number;
  readonly mimeType: string;
}

/** Times are ISO strings. A deleted comment has `deletedAt`, and neither body, reactions nor attachments. */
export interface CommentDocument {
  readonly type: 'comment';
  readonly id: string;
  readonly threadId: string;
  readonly roomId: string;
  readonly userId: string;
  readonly createdAt: string;
  readonly editedAt?: string;
  readonly deletedAt?: string;
  readonly body?: CommentBody;
  readonly metadata: CommentMetadata;
  readonly reactions: readonly Reaction[];
  readonly attachments: readonly Attachment[];
}

/** With all comments, oldest first. */
export interface ThreadDocument {
  readonly type: 'thread';
  readonly id: string;
  readonly roomId: string;
  readonly comments: readonly CommentDocument[];
  readonly createdAt: string;
  readonly updatedAt: string;
  readonly metadata: CommentMetadata;
  readonly resolved: boolean;
  readonly visibility: Visibility;
}

/** A comment as the SDK in a browser reads it: one entry for each emoji (protocol 7.3). */
export interface CommentForClients extends Omit<CommentDocument, 'reactions'> {
  readonly reactions: readonly {
    readonly emoji: string;
    readonly createdAt: string;
    readonly users: readonly { readonly id: string }[];
  }[];
}
export interface ThreadForClients extends Omit<ThreadDocument, 'comments'> {
  readonly comments: readonly CommentForClients[];
}

export function threadForClients(thread: ThreadDocument): ThreadForClients {
  return { ...thread, comments: thread.comments.map(commentForClients) };
}

/** Emojis stand in the order of their first use, and so do the users of each. */
export function commentForClients(comment: CommentDocument): CommentForClients {
  const groups = new Map<string, { emoji: string; createdAt: string; users: { id: string }[] }>();
  for (const { emoji, createdAt, userId } of comment.reactions) {
    const group = groups.get(emoji);
    if (group === undefined) groups.set(emoji, { emoji, createdAt, users: [{ id: userId }] });
    else group.users.push({ id: userId });
  }
  return { ...comment, reactions: [...groups.values()] };
}

/** A thread that a user is subscribed to; to back ends with `userId`. */
export interface SubscriptionDocument {
  readonly kind: 'thread';
  readonly subjectId: string;
  readonly createdAt: string;
}

/** Whom a comment mentions, each once, in the order of the text. */
export interface Mentions {
  readonly userIds: readonly string[];
  /** With the users that the client took to be in the group; empty when it did not say. */
  readonly groups: readonly { readonly id: string; readonly userIds: readonly string[] }[];
}

export function mentionsIn(body: CommentBody): Mentions {
  const userIds = new Set<string>();
  const groups = new Map<string, Set<string>>();
  for (const { children } of body.content) {
    for (const child of children) {
      if (!('type' in child) || child.type !== 'mention') continue;
      if (child.kind === 'group') noteGroup(groups, child);
      else userIds.add(child.id);
    }
  }
  return { userIds: [...userIds], groups: [...groups].map(([id, members]) => ({ id, userIds: [...members] })) };
}

/** Adds to what was said of the group before: it may be named thousands of times, after many users once. */
function noteGroup(groups: Map<string, Set<string>>, { id, userIds = [] }: Static<typeof MentionNode>): void {
  const members = groups.get(id) ?? new Set();
  for (const userId of userIds) members.add(userId);
  groups.set(id, members);
}
