/** Files of rooms, uploaded by hand. */
import { randomBytes } from 'node:crypto';
import type { FileData } from '../../../src/protocol/storage-ops.ts';
import { ask, roomPath } from './rest.ts';
import type { TestServer } from './server.ts';

/** An id that no other test has. */
export const aFileId = (): string => `fl_${randomBytes(16).toString('base64url').slice(0, 21)}`;

/** The path of a file, or of something of it, without the version. */
export function fileAt(roomId: string, fileId: string, rest = ''): string {
  return roomPath(roomId, `/storage/files/${fileId}${rest}`).slice('/v2'.length);
}

/** Uploads what Storage says of a file, with zeros in it: for tests of Storage, to which a file is its metadata. */
export async function uploadAs(
  server: Pick<TestServer, 'url' | 'secretKey'>,
  roomId: string,
  { id, name, size }: FileData,
): Promise<void> {
  const path = `/v2${fileAt(roomId, id, `/upload/${encodeURIComponent(name)}`)}`;
  const body = new Uint8Array(size);
  const answer = await ask(server as TestServer, path, { method: 'PUT', body, contentType: 'application/octet-stream' });
  if (answer.status !== 200) throw new Error(`no file: ${answer.status} ${answer.text}`);
}
