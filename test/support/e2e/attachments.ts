/** Attachments of comments, uploaded by hand. */
import { randomBytes } from 'node:crypto';
import { roomPath } from './rest.ts';

/** An id that no other test has. */
export const anAttachmentId = (): string => `at_${randomBytes(16).toString('base64url').slice(0, 21)}`;

/** The path of an attachment, or of something of it, without the version. */
export function attachmentAt(roomId: string, attachmentId: string, rest = ''): string {
  return roomPath(roomId, `/attachments/${attachmentId}${rest}`).slice('/v2'.length);
}
