/** What of files travels over REST beyond their upload (contract, Storage files; supplement 1.6; protocol 7.2). */
import Type from 'typebox';
import { ROOM_ID_LIMITS } from '../../protocol/names.ts';
import { FILE_ID_PATTERN, FileData } from '../../protocol/storage-ops.ts';

const roomId = Type.String({ 'x-limits': ROOM_ID_LIMITS });
export const FILE_PARAMS = { roomId, fileId: Type.String({ pattern: FILE_ID_PATTERN, description: 'Made by the caller.' }) };

export const RoomParams = Type.Object({ roomId });
export const FileParams = Type.Object(FILE_PARAMS);

export const FileReply = FileData;
const expiresAt = Type.String({ description: 'When `url` ends, an hour from now.' });
export const LocatedFile = Type.Object({
  ...FileData.properties,
  url: Type.String({ description: 'Downloads the file without credentials.' }),
  expiresAt,
});

/** The SDK asks for 50 at most. */
const FILES_AT_ONCE_MAX = 50;
export const UrlsBody = Type.Object(
  { fileIds: Type.Array(Type.String({ maxLength: 64 }), { maxItems: FILES_AT_ONCE_MAX }) },
  { additionalProperties: false },
);
export const UrlsReply = Type.Object({
  urls: Type.Array(Type.Union([Type.String(), Type.Literal(false), Type.Null()]), {
    description:
      'In the order of the ids: false while the Storage does not refer to the file, null where the room has no such file.',
  }),
  expiresAt,
});
