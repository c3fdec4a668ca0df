/** Versions as they go over the wire: to back ends (contract, Version history; supplement 2.3) and to clients (protocol 7.2). */
import Type from 'typebox';
import { NAME_LENGTHS, ROOM_ID_LIMITS } from '../../protocol/names.ts';

const Version = Type.Object({
  id: Type.String({ description: '`vh_…`' }),
  createdAt: Type.String({ format: 'date-time' }),
  authors: Type.Array(Type.Object({ id: Type.String({ description: 'Of a user.' }) }), {
    description: 'Users who changed Storage or a Yjs document since the version before.',
  }),
});
export type VersionDocument = Type.Static<typeof Version>;

export const VersionPage = Type.Object({
  nextCursor: Type.Union([Type.String(), Type.Null()], { description: 'For `cursor`; null on the last page.' }),
  data: Type.Array(Version),
});

/** As the SDK reads them in a browser. */
export const VersionList = Type.Object({
  versions: Type.Array(Version),
  meta: Type.Object({ requestedAt: Type.String({ format: 'date-time', description: 'For `since`.' }) }),
});

export const CreatedVersion = Type.Object({ data: Type.Object({ id: Type.String({ description: '`vh_…`' }) }) });

export const RoomParams = Type.Object({ roomId: Type.String({ 'x-limits': ROOM_ID_LIMITS }) });

export const VersionParams = Type.Object({
  roomId: Type.String({ 'x-limits': ROOM_ID_LIMITS }),
  versionId: Type.String({ description: '`vh_…`' }),
});

export const ListQuery = Type.Object({
  limit: Type.Integer({ minimum: 1, maximum: 100, default: 20 }),
  cursor: Type.Optional(Type.String({ description: 'A `nextCursor` of the same list.' })),
});

export const SinceQuery = Type.Object({
  since: Type.String({ description: 'A `requestedAt` of the list, or any time in ISO 8601.' }),
});

export const GuidQuery = Type.Object({
  guid: Type.Optional(Type.String({ maxLength: NAME_LENGTHS.guid, description: 'Of a subdocument.' })),
});
