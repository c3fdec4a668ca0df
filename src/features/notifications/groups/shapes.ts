/** Groups as they go over the wire: to back ends (supplement 2.7) and to clients (protocol 7.3). They are for mentions, and give no access. */
import Type, { type Static } from 'typebox';
import { pageOf } from '../../../protocol/inbox.ts';
import { NAME_LENGTHS } from '../../../protocol/names.ts';
import { GROUP_LIMITS } from './rules.ts';

const time = Type.String({ format: 'date-time' });
const named = (lengthMax: number) => ({ 'x-limits': { minLength: 1, maxLength: lengthMax } });

const Scopes = Type.Object({ mention: Type.Literal(true) }, { additionalProperties: false });
const fields = {
  type: Type.Literal('group'),
  id: Type.String(),
  organizationId: Type.String(),
  createdAt: time,
  updatedAt: time,
  scopes: Scopes,
  members: Type.Array(Type.Object({ id: Type.String(), addedAt: time })),
};
export const GroupReply = Type.Object(fields);
export type Group = Static<typeof GroupReply>;
/** With the older name of the organisation beside the newer. */
export const GroupForClients = Type.Object({ ...fields, tenantId: Type.String() });
export const GroupPage = pageOf(GroupReply);

const memberIds = Type.Array(Type.String(named(NAME_LENGTHS.userId)), { maxItems: GROUP_LIMITS.membersMax });

export const CreateGroupBody = Type.Object(
  {
    id: Type.String(named(NAME_LENGTHS.groupId)),
    groupId: Type.Optional(Type.String({ description: 'Older name of `id`; must be the same.' })),
    memberIds: Type.Optional(memberIds),
    organizationId: Type.Optional(Type.String(named(NAME_LENGTHS.organizationId))),
    scopes: Type.Optional(Scopes),
  },
  { additionalProperties: false },
);
export type GroupCreation = Static<typeof CreateGroupBody>;
export const MembersBody = Type.Object({ memberIds }, { additionalProperties: false });
export const FindBody = Type.Object(
  { groupIds: Type.Array(Type.String(), { maxItems: GROUP_LIMITS.askedForMax }) },
  { additionalProperties: false },
);
export const FindReply = Type.Object({ groups: Type.Array(GroupForClients) });

export const GroupParams = Type.Object({ groupId: Type.String(named(NAME_LENGTHS.groupId)) });
export const UserParams = Type.Object({ userId: Type.String(named(NAME_LENGTHS.userId)) });
export const ListQuery = Type.Object({
  limit: Type.Integer({ minimum: 1, maximum: 100, default: 20 }),
  startingAfter: Type.Optional(Type.String({ description: 'A `nextCursor` of the same list.' })),
});
