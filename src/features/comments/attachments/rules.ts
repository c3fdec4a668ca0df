/** What of an attachment can be judged without asking anybody. Pure. */
import { AppError } from '../../../base/errors.ts';
import { ATTACHMENT_ID_PATTERN, type Visibility } from '../../../protocol/comments.ts';
import { allows, type Permissions } from '../../../protocol/permissions.ts';

export function noSuchAttachment(id: string): AppError {
  return new AppError('RESOURCE_NOT_FOUND', { kind: 'attachment', id });
}

const ATTACHMENT_ID = new RegExp(ATTACHMENT_ID_PATTERN);

export function isAttachmentId(text: string): boolean {
  return ATTACHMENT_ID.test(text);
}

/** The visibilities of the threads that may be read. */
export function readableWith(permissions: Permissions): Visibility[] {
  return (['public', 'private'] as const).filter((visibility) => allows(permissions, `comments:${visibility}`, 'read'));
}
