/** What of files travels over REST: paths, bodies and answers (contract, Storage files; supplement 1.6; protocol 7.2). */
import Type, { type Static } from 'typebox';
import { PART_NUMBER_MAX } from '../../kernel/persistence/blob-parts.ts';
import { ROOM_ID_LIMITS } from '../../protocol/names.ts';
import { FILE_ID_PATTERN, FILE_LENGTHS, FileData } from '../../protocol/storage-ops.ts';

const Text = (description: string) => Type.String({ description });

const roomId = Type.String({ 'x-limits': ROOM_ID_LIMITS });
const file = { roomId, fileId: Type.String({ pattern: FILE_ID_PATTERN, description: 'Made by the caller.' }) };
const name = Type.String({ description: `At most ${FILE_LENGTHS.name} bytes; a slash in it is sent as %2F.` });
const upload = { ...file, uploadId: Text('As the upload began with.') };

export const RoomParams = Type.Object({ roomId });
export const FileParams = Type.Object(file);
export const NamedFileParams = Type.Object({ ...file, name });
export const UploadParams = Type.Object(upload);
const partNumber = Type.Integer({ minimum: 1, maximum: PART_NUMBER_MAX });
export const PartParams = Type.Object({ ...upload, partNumber });

export const SizeQuery = Type.Object({
  fileSize: Type.Optional(Type.Integer({ minimum: 0, description: 'In bytes. The file is refused when it has another size.' })),
});

const Part = Type.Object({ partNumber, etag: Type.String({ maxLength: 128 }) }, { additionalProperties: false });
export type Part = Static<typeof Part>;

export const UploadReply = Type.Object({ fileId: FileData.properties.id, uploadId: Type.String() });
export const PartReply = Type.Object({ partNumber, etag: Type.String() });
export const CompleteBody = Type.Object(
  { parts: Type.Array(Part, { minItems: 1, maxItems: PART_NUMBER_MAX, description: 'All that were uploaded, in any order.' }) },
  { additionalProperties: false },
);

/** So many parts fit, whatever the bound of other bodies is. */
export const COMPLETE_LIMITS = { bytesMax: 2_097_152 } as const;

export const FileReply = FileData;
const expiresAt = Type.String({ description: 'When `url` ends, an hour from now.' });
export const LocatedFile = Type.Object({
  ...FileData.properties,
  url: Text('Downloads the file without credentials.'),
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
