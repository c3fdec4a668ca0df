/**
 * The examples of all operations. An operation without one fails `operations.test.ts`: add a line to the file of its feature, or a file.
 */
import { ATTACHMENT_EXAMPLES } from './attachments.ts';
import { COMMENT_EXAMPLES } from './comments.ts';
import { CONSOLE_EXAMPLES } from './console.ts';
import { ABOUT_EXAMPLES, SCHEMA_EXAMPLES, STORAGE_EXAMPLES, YDOC_EXAMPLES } from './documents.ts';
import type { Examples } from './example.ts';
import { FEED_EXAMPLES } from './feeds.ts';
import { FILE_EXAMPLES } from './files.ts';
import { GROUP_EXAMPLES, NOTIFICATION_EXAMPLES } from './notifications.ts';
import { ROOM_EXAMPLES, TOKEN_EXAMPLES } from './rooms.ts';
import { VERSION_EXAMPLES } from './versions.ts';
import { WEBHOOK_EXAMPLES } from './webhooks.ts';

export const EXAMPLES: Examples = {
  ...ROOM_EXAMPLES,
  ...TOKEN_EXAMPLES,
  ...STORAGE_EXAMPLES,
  ...FILE_EXAMPLES,
  ...ATTACHMENT_EXAMPLES,
  ...YDOC_EXAMPLES,
  ...SCHEMA_EXAMPLES,
  ...VERSION_EXAMPLES,
  ...WEBHOOK_EXAMPLES,
  ...COMMENT_EXAMPLES,
  ...NOTIFICATION_EXAMPLES,
  ...GROUP_EXAMPLES,
  ...FEED_EXAMPLES,
  ...CONSOLE_EXAMPLES,
  ...ABOUT_EXAMPLES,
};
