/** To whoever shows a credential of one organisation, the rooms of another do not exist: over every socket and every route that takes one. */
import { describe, expect, test } from 'vitest';
import { at, contractOf, refusal } from '../support/e2e/contract.ts';
import { dial, enterRaw } from '../support/e2e/raw-client.ts';
import { ask } from '../support/e2e/rest.ts';
import { aServer, freshRoomId } from '../support/e2e/server.ts';
import { accessTokenFor, idTokenFor } from '../support/e2e/tokens.ts';
import { until } from '../support/e2e/until.ts';
import { plainEditorWith } from '../support/e2e/yjs-clients.ts';
import type { World } from '../support/operations/example.ts';
import { EXAMPLES } from '../support/operations/examples.ts';
import { expectRefused, needOf, operationsOf, send } from '../support/operations/operation.ts';

const server = await aServer();
const { call, aRoom } = contractOf(server);
const OPEN = { defaultAccesses: ['*:write'] };
/** A room that lets everybody in, but for its organisation. */
const acme = await aRoom({ ...OPEN, organizationId: 'acme' });
const ours = await aRoom(OPEN);

/** Credentials of other organisations, each as strong as it can be. */
const STRANGERS: readonly (readonly [who: string, token: (roomId: string) => Promise<string>])[] = [
  ['an access token', () => accessTokenFor(server, { userId: 'u', organizationId: 'other' })],
  ['an access token of the default organisation', () => accessTokenFor(server, { userId: 'u' })],
  [
    'an access token that names the room',
    (roomId) => accessTokenFor(server, { userId: 'u', permissions: { [roomId]: ['*:write'] } }),
  ],
  ['an ID token', () => idTokenFor(server, { userId: 'u', organizationId: 'other' })],
  ['a single-room token', async () => (await call(`POST ${at(ours)}/authorize`, { json: { userId: 'u' } })).json.token],
];
const NO_ROOM = `The room "${acme}" does not exist.`;

describe.each(STRANGERS)('with %s', (_, token) => {
  test('[OG1] a socket of the SDK is closed as if there were no such room, and nobody hears of it', async () => {
    const native = await enterRaw(server, { roomId: acme, userId: 'native', organizationId: 'acme' });
    const client = await dial(server, { roomId: acme, token: await token(acme) });
    expect(await client.closed).toEqual({ code: 4001, reason: NO_ROOM });
    expect(client.inbox).toEqual([]);
    await native.roundTrip();
    expect(native.inbox).toEqual([]);
  });

  test('[OG1] so is a socket of y-websocket', async () => {
    const editor = plainEditorWith(server, { roomId: acme, params: { token: await token(acme) } });
    await until('the server has closed', () => editor.network.closeCodes.length > 0);
    expect([editor.network.closeCodes[0], editor.provider.synced]).toEqual([4401, false]);
  });
});

test('[OG1] the public key says nothing of organisations: it finds rooms of the default one', async () => {
  await enterRaw(server, { roomId: ours, publicKey: server.publicKey });
  const client = await dial(server, { roomId: acme, publicKey: server.publicKey });
  expect(await client.closed).toEqual({ code: 4001, reason: NO_ROOM });
  const answer = await call(`POST ${at(acme)}/public/authorize`, { json: { publicApiKey: server.publicKey }, bearer: null });
  expect(refusal(answer)).toBe(`404 ROOM_NOT_FOUND ${NO_ROOM}`);
});

test('[OG1] a token of the organisation enters, and a room made by entering is of it', async () => {
  await enterRaw(server, { roomId: acme, userId: 'u', organizationId: 'acme' });
  const made = freshRoomId('made');
  await enterRaw(server, { roomId: made, userId: 'u', organizationId: 'acme' });
  expect((await call(`GET ${at(made)}`)).json.organizationId).toBe('acme');
});

test('[OG2] a single-room token is of the organisation of its room, and goes with it no further', async () => {
  const roomId = await aRoom({ ...OPEN, organizationId: 'acme' });
  const { token } = (await call(`POST ${at(roomId)}/authorize`, { json: { userId: 'u' } })).json;
  await enterRaw(server, { roomId, token });
  await call(`POST ${at(roomId)}/update-organization-id`, { json: { fromOrganizationId: 'acme', toOrganizationId: 'other' } });
  expect((await (await dial(server, { roomId, token })).closed).code).toBe(4001);
});

test('[OG3] the list of rooms of one organisation, under both names of the parameter, has none of another', async () => {
  const idsOf = async (query: string) =>
    (await ask(server, `/v2/rooms?limit=100&${query}`)).json.data.map(({ id }: { id: string }) => id);
  for (const name of ['organizationId', 'tenantId']) {
    expect(await idsOf(`${name}=acme`)).toContain(acme);
    expect(await idsOf(`${name}=acme`)).not.toContain(ours);
    expect(await idsOf(`${name}=default`)).not.toContain(acme);
  }
  expect(await idsOf('')).toEqual(expect.arrayContaining([acme, ours]));
});

test('[OG4] every route that takes a credential of a user answers 404 for a room of another organisation', async () => {
  const world: World = { call, aRoom: (fields) => aRoom({ ...OPEN, ...fields }), server };
  const forUsers = (await operationsOf(server)).filter(
    (walked) => typeof needOf(walked) === 'object' && walked.path.includes('{roomId}'),
  );
  for (const walked of forUsers) {
    const example = await EXAMPLES[walked.name]!.make(world);
    const roomId = example.params!.roomId!;
    await call(`POST ${at(roomId)}/update-organization-id`, {
      json: { fromOrganizationId: 'default', toOrganizationId: 'acme' },
    });
    for (const [, token] of STRANGERS) {
      const answer = await send(server, walked, { ...example, bearer: await token(roomId) });
      expectRefused(walked, answer, `404 ROOM_NOT_FOUND The room "${roomId}" does not exist.`);
    }
    expectRefused(walked, await send(server, walked, { ...example, bearer: server.publicKey }), '404 ROOM_NOT_FOUND');
  }
});
