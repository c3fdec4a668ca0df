/** Schemas as they go over the wire (contract, Schema; supplement 2.11 and 3.4). What a name and a body may be is checked in `rules.ts`. */
import Type from 'typebox';
import { ROOM_ID_LIMITS } from '../../protocol/names.ts';

export const SchemaReply = Type.Object({
  id: Type.String({ description: '`<name>@<version>`' }),
  name: Type.String(),
  version: Type.Integer({ minimum: 1 }),
  createdAt: Type.String({ format: 'date-time' }),
  updatedAt: Type.String({ format: 'date-time', description: 'As `createdAt`: a change makes a new version.' }),
  body: Type.String({ description: 'The text of the schema.' }),
});
export type SchemaDocument = Type.Static<typeof SchemaReply>;

export const SchemaPage = Type.Object({
  nextCursor: Type.Union([Type.String(), Type.Null()], { description: 'For `startingAfter`; null on the last page.' }),
  data: Type.Array(SchemaReply),
});

/** Anything is let through: what is no string is a schema with an error, and told so (supplement 3.3 row 14). */
const Body = Type.Unknown({ description: 'The text of the schema, a string of at most 65,536 characters.' });

export const CreateSchemaBody = Type.Object(
  {
    name: Type.String({
      description: 'Lower-case letters, digits and dashes.',
      'x-limits': { minLength: 1, maxLength: 64, pattern: '^[a-z0-9-]+$' },
    }),
    body: Body,
  },
  { additionalProperties: false },
);

export const UpdateSchemaBody = Type.Object({ body: Body }, { additionalProperties: false });

export const SchemaParams = Type.Object({ schemaId: Type.String({ description: '`<name>@<version>`' }) });

export const RoomParams = Type.Object({ roomId: Type.String({ 'x-limits': ROOM_ID_LIMITS }) });

export const ListQuery = Type.Object({
  limit: Type.Integer({ minimum: 1, maximum: 100, default: 20 }),
  startingAfter: Type.Optional(Type.String({ description: 'A `nextCursor` of the same list.' })),
});

export const AttachBody = Type.Object(
  { schema: Type.String({ description: 'The ID of a schema, `<name>@<version>`.' }) },
  { additionalProperties: false },
);

export const AttachReply = Type.Object({ schema: Type.String() });
