/** What of a file can be judged without asking anybody. Pure. */
import { AppError } from '../../base/errors.ts';
import { FILE_ID_PATTERN } from '../../protocol/storage-ops.ts';

export function noSuchFile(fileId: string): AppError {
  return new AppError('RESOURCE_NOT_FOUND', { kind: 'file', id: fileId });
}

const FILE_ID = new RegExp(FILE_ID_PATTERN);

export function isFileId(text: string): boolean {
  return FILE_ID.test(text);
}
