/** Who is here and what passes: entry, presence, events, leaving and coming back (conformance checks 1, 2, 5 to 13). */
import { describe, expect, test } from 'vitest';
import { CODE } from '../support/e2e/messages.ts';
import { dial, enterRaw, RawClient } from '../support/e2e/raw-client.ts';
import { enter, listen, type Visitor } from '../support/e2e/sdk-client.ts';
import { aServer, freshRoomId, isExternal } from '../support/e2e/server.ts';
import { accessTokenFor } from '../support/e2e/tokens.ts';
import { until } from '../support/e2e/until.ts';
import { plainEditor } from '../support/e2e/yjs-clients.ts';

const CONNECTIONS_PER_ROOM_MAX = 30;
const server = await aServer({ CONNECTIONS_PER_ROOM_MAX: String(CONNECTIONS_PER_ROOM_MAX) });

describe('entry', () => {
  test('[E2E check 1] a base URL with a path and a query, and a room ID with a space, a slash and an accent, lead into the room', async () => {
    const roomId = `${freshRoomId('a b/é')}`;
    const { network } = await enter(server, { roomId, baseUrl: `${server.url}/p?x=1` });
    const [address] = network.dialled;
    expect(address!.pathname).toBe('/v8');
    expect(Object.fromEntries(address!.searchParams)).toEqual({ x: '1', roomId, tok: expect.any(String), version: '3.24.2' });
    expect((await server.backend.getRoom(roomId)).id).toBe(roomId);
  });

  test('[E2E check 2] the first frame is a bare ROOM_STATE object with actor, nonce, scopes, users and meta', async () => {
    const client = await enterRaw(server, {
      roomId: freshRoomId('state'),
      userId: 'al',
      permissions: { '*': ['*:write', 'comments:read'] },
    });
    expect(JSON.parse(client.texts[0]!)).toEqual({
      type: CODE.roomState,
      actor: expect.any(Number),
      nonce: expect.any(String),
      scopes: ['*:write', 'comments:read'],
      users: {},
      meta: {},
    });
    expect(client.actor).toBeGreaterThanOrEqual(1);
  });

  test.skipIf(isExternal)('[E2E check 5] the last place in a room is given, the next one is refused with 4005', async () => {
    const roomId = freshRoomId('full');
    const token = await accessTokenFor(server, { userId: 'al' });
    const [first] = await Promise.all(
      Array.from({ length: CONNECTIONS_PER_ROOM_MAX }, () => enterRaw(server, { roomId, token })),
    );
    expect(await (await dial(server, { roomId, token })).closed).toMatchObject({ code: 4005 });
    first!.leave();
    await first!.closed;
    await until('the place is free', () => enterRaw(server, { roomId, userId: 'al' }));
  });

  test('[E2E check 6] ping is answered with pong', async () => {
    const client = await enterRaw(server, { roomId: freshRoomId('ping'), userId: 'al' });
    client.sendFrame('ping');
    await until('pong came', () => client.texts.includes('pong'), { timeoutMs: 2_000 });
  });

  test('[E2E check 8] each learns of the other: by USER_JOINED who was there, by ROOM_STATE who came', async () => {
    const roomId = freshRoomId('join');
    const al = await enterRaw(server, { roomId, userId: 'al', userInfo: { name: 'Al' } });
    const bo = await enterRaw(server, { roomId, userId: 'bo', userInfo: { name: 'Bo' }, permissions: { '*': ['*:read'] } });
    expect(await al.take(CODE.userJoined)).toEqual({
      type: CODE.userJoined,
      actor: bo.actor,
      id: 'bo',
      info: { name: 'Bo' },
      scopes: ['*:read'],
    });
    const { users } = JSON.parse(bo.texts[0]!) as { users: object };
    expect(users).toEqual({ [al.actor]: { id: 'al', info: { name: 'Al' }, scopes: ['*:write'] } });
    await bo.roundTrip();
    expect(bo.inbox).toEqual([]);
  });

  test('[E2E check 11] who closes the socket is announced as gone, by number', async () => {
    const roomId = freshRoomId('leave');
    const [al, bo] = [await enterRaw(server, { roomId, userId: 'al' }), await enterRaw(server, { roomId, userId: 'bo' })];
    bo.leave();
    expect(await al.take(CODE.userLeft)).toEqual({ type: CODE.userLeft, actor: bo.actor });
  });
});

describe('presence', () => {
  test('[E2E check 9] a presence for a newcomer reaches it whole, marked as full, and no third one', async () => {
    const roomId = freshRoomId('target');
    const [al, bo, cy] = [
      await enterRaw(server, { roomId, userId: 'al' }),
      await enterRaw(server, { roomId, userId: 'bo' }),
      await enterRaw(server, { roomId, userId: 'cy' }),
    ];
    bo.send({ type: CODE.presence, targetActor: al.actor, data: { cursor: { x: 1 }, name: null } });
    expect(await al.take(CODE.presence)).toEqual({
      type: CODE.presence,
      actor: bo.actor,
      targetActor: expect.any(Number),
      data: { cursor: { x: 1 }, name: null },
    });
    bo.send({ type: CODE.presence, data: { fence: true } });
    expect((await cy.take(CODE.presence)).data).toEqual({ fence: true });
  });

  test('[E2E check 9] a full presence that was overtaken by a patch reaches the newcomer with the patch in it', async () => {
    const roomId = freshRoomId('overtaken');
    const [al, bo] = [await enterRaw(server, { roomId, userId: 'al' }), await enterRaw(server, { roomId, userId: 'bo' })];
    al.send({ type: CODE.presence, targetActor: -1, data: { cursor: 1, name: 'Al' } });
    await bo.take(CODE.presence);
    // An SDK client copies its presence when bo joins, and sends a later patch ahead of that copy.
    al.send(
      { type: CODE.presence, data: { cursor: 2 } },
      { type: CODE.presence, targetActor: bo.actor, data: { cursor: 1, name: 'Al' } },
    );
    expect((await bo.take(CODE.presence)).data).toEqual({ cursor: 2 });
    expect(await bo.take(CODE.presence)).toMatchObject({ targetActor: bo.actor, data: { cursor: 2, name: 'Al' } });
  });

  test('[E2E check 10] a patch reaches the others without a target, and its sender not at all', async () => {
    const roomId = freshRoomId('patch');
    const [al, bo] = [await enterRaw(server, { roomId, userId: 'al' }), await enterRaw(server, { roomId, userId: 'bo' })];
    await al.take(CODE.userJoined);
    al.send({ type: CODE.presence, data: { cursor: 1 } });
    expect(await bo.take(CODE.presence)).toEqual({ type: CODE.presence, actor: al.actor, data: { cursor: 1 } });
    await al.roundTrip();
    expect(al.inbox).toEqual([]);
  });

  test('[E2E check 9] three SDK clients see each other, with what each has set, whoever came first', async () => {
    const roomId = freshRoomId('three');
    const visitors: Visitor[] = [];
    for (const userId of ['al', 'bo', 'cy'])
      visitors.push(await enter(server, { roomId, userId, initialPresence: { of: userId, moved: 0 } }));
    for (const { room } of visitors) room.updatePresence({ moved: 1 });
    for (const [index, { room }] of visitors.entries()) {
      const others = ['al', 'bo', 'cy'].filter((_, other) => other !== index);
      await until('all have moved', () => room.getOthers().filter(({ presence }) => presence.moved === 1).length === 2);
      expect(room.getOthers().map(({ id, presence }) => ({ id, presence }))).toEqual(
        expect.arrayContaining(others.map((id) => ({ id, presence: { of: id, moved: 1 } }))),
      );
    }
  });

  test('[E2E check 11] SDK clients are told of entering, updating and leaving, in that order', async () => {
    const roomId = freshRoomId('events');
    const al = await enter(server, { roomId, userId: 'al' });
    const events = listen<any>(al.room.events.others);
    const bo = await enter(server, { roomId, userId: 'bo', initialPresence: { n: 0 } });
    await until('bo is seen', () => events.some(({ type }) => type === 'enter'));
    bo.room.updatePresence({ n: 1 });
    await until('bo has moved', () => events.some(({ type }) => type === 'update'));
    bo.leave();
    await until('bo has left', () => events.some(({ type }) => type === 'leave'));
    const told = events.filter(({ type }) => type !== 'reset').map(({ type, user }) => [type, user.id]);
    expect(told).toEqual([
      ['enter', 'bo'],
      ['update', 'bo'],
      ['leave', 'bo'],
    ]);
  });
});

describe('a slow reader', () => {
  const FILLER = 'x'.repeat(60_000);
  /** 24 MB, which is mostly more than the kernel and the server keep for one reader; a kernel that has much memory may keep 36 MB. */
  const [ROUNDS, CURSORS] = [20, 20];

  test.skipIf(isExternal)('[E2E check 11b] an SDK client that reads again knows what it had missed', async () => {
    const roomId = freshRoomId('slow');
    const al = await enterRaw(server, { roomId, userId: 'al' });
    const bo = await enter(server, { roomId, userId: 'bo' });
    const cy = await enterRaw(server, { roomId, userId: 'cy' });
    al.send({ type: CODE.presence, targetActor: -1, data: { note: 'first', filler: '' } });
    const seen = () => bo.room.getOthers().find(({ id }) => id === 'al')?.presence;
    await until('al is seen', () => seen()?.note === 'first');
    const patches = () => bo.network.received.filter(({ type, data }) => type === CODE.presence && 'round' in (data as object));
    for (let rounds = ROUNDS; ; rounds *= 2) {
      bo.network.stopReading();
      for (let round = 0; round < rounds; round += 1) {
        for (let cursor = 0; cursor < CURSORS; cursor += 1) al.send({ type: CODE.presence, data: { filler: FILLER, round } });
        await until('the room has told of them', () => cy.inbox.some(({ data }) => (data as any)?.round === round));
        cy.inbox.length = 0;
      }
      const note = `after ${rounds}`;
      al.send({ type: CODE.presence, data: { note } });
      await until('the room has told of the last', () => cy.inbox.some(({ data }) => (data as any)?.note === note));
      bo.network.readAgain();
      await until('bo knows the last', () => seen()?.note === note);
      expect(seen()).toEqual({ note, filler: FILLER, round: rounds - 1 });
      if (patches().length < rounds * CURSORS) break; // bo has missed some: else the kernel kept them all
      bo.network.received.length = 0;
    }
    expect(bo.network.closeCodes).toEqual([]);
  });

  test.skipIf(isExternal)('[E2E check 11b] so does a y-websocket client', async () => {
    const roomId = freshRoomId('slow-yjs');
    const [al, bo, cy] = [
      await plainEditor(server, { roomId, userId: 'al' }),
      await plainEditor(server, { roomId, userId: 'bo' }),
      await plainEditor(server, { roomId, userId: 'cy' }),
    ];
    const noteAt = ({ awareness }: typeof bo) =>
      (awareness.getStates().get(al.doc.clientID) as { note?: string } | undefined)?.note;
    al.awareness.setLocalState({ note: 'first' });
    await until('al is seen', () => noteAt(bo) === 'first');
    clearInterval((al.awareness as any)._checkInterval); // which would say the last once more, after 15 s
    bo.network.stopReading();
    for (let round = 0; round < ROUNDS; round += 1) {
      for (let cursor = 0; cursor < CURSORS; cursor += 1)
        al.awareness.setLocalState({ note: `${round}`, filler: FILLER, cursor });
      await until('the room has told of them', () => noteAt(cy) === `${round}`);
    }
    al.awareness.setLocalState({ note: 'last' });
    await until('the room has told of the last', () => noteAt(cy) === 'last');
    bo.network.readAgain();
    await until('bo knows the last', () => noteAt(bo) === 'last');
    expect(bo.network.closeCodes).toEqual([]);
  });
});

describe('events', () => {
  test('[E2E check 12] an event reaches the others, with its sender, and not the sender', async () => {
    const roomId = freshRoomId('broadcast');
    const [al, bo, cy] = [
      await enter(server, { roomId, userId: 'al' }),
      await enter(server, { roomId, userId: 'bo', initialPresence: { n: 1 } }),
      await enter(server, { roomId, userId: 'cy' }),
    ];
    const [own, heard] = [listen<any>(bo.room.events.customEvent), listen<any>(al.room.events.customEvent)];
    await until('al sees bo', () => al.room.getOthers().some(({ id }) => id === 'bo'));
    bo.room.broadcastEvent({ type: 'hello', list: [1, null, 'ä'] });
    await until('the event is here', () => heard.length === 1);
    expect(heard[0]).toMatchObject({
      connectionId: bo.actor(),
      user: { id: 'bo', presence: { n: 1 } },
      event: { type: 'hello', list: [1, null, 'ä'] },
    });
    cy.room.broadcastEvent('fence');
    await until('the fence is here', () => own.length === 1);
    expect(own[0]).toMatchObject({ event: 'fence' });
  });

  test('[FR7] what is not served is refused at once: a socket for AI with a code at which the SDK stops', async () => {
    expect((await new RawClient(new URL('/ai/v7?tok=x', server.socketUrl)).closed).code).toBe(4001);
  });

  test.each(['/v7', '/v9', '/ai/v4'])(
    '[FR10] an SDK of another protocol, on %s, is told so with a code at which it stops',
    async (path) => {
      const { code, reason } = await new RawClient(new URL(`${path}?roomId=r&tok=x`, server.socketUrl)).closed;
      expect([code, reason]).toEqual([4001, `There is no route GET ${path}.`]);
    },
  );

  test('[E2E check 13] a message of an unknown code is passed over, and the rest of its frame is done', async () => {
    const roomId = freshRoomId('unknown');
    const [al, bo] = [await enterRaw(server, { roomId, userId: 'al' }), await enterRaw(server, { roomId, userId: 'bo' })];
    al.send({ type: 9_999, anything: [{}] }, { type: CODE.event, event: 'still' }, { type: -1 });
    expect(await bo.take(CODE.event)).toEqual({ type: CODE.event, actor: al.actor, event: 'still' });
    await al.roundTrip();
  });
});

describe('coming back', () => {
  test('[E2E check 7] no number is given twice in a room, however often one comes and goes', async () => {
    const roomId = freshRoomId('numbers');
    const seen: number[] = [];
    for (let turn = 0; turn < 5; turn += 1) {
      const client = await enterRaw(server, { roomId, userId: 'al' });
      seen.push(client.actor);
      client.leave();
      await client.closed;
    }
    expect(new Set(seen).size).toBe(5);
  });

  test('[E2E check 7] a client that lost its connection comes back under a new number, and the others see it once', async () => {
    const roomId = freshRoomId('reconnect');
    const al = await enter(server, { roomId, userId: 'al' });
    const bo = await enter(server, { roomId, userId: 'bo', initialPresence: { n: 1 } });
    const before = bo.actor();
    bo.room.updatePresence({ n: 2 });
    bo.network.cut();
    bo.network.mend();
    await until('bo is back under a new number', () => bo.room.getStatus() === 'connected' && bo.actor() !== before);
    await until('al sees the new one alone', () => {
      const others = al.room.getOthers();
      return others.length === 1 && others[0]!.connectionId === bo.actor();
    });
    expect(al.room.getOthers()[0]!.presence).toEqual({ n: 2 });
    await until('bo sees al once', () => bo.room.getOthers().length === 1); // al's client tells a newcomer of itself in its own time
    expect(bo.room.getOthers().map(({ id }) => id)).toEqual(['al']);
    expect(bo.tokensAsked()).toBe(1);
  });

  test.skipIf(isExternal)(
    '[E2E check 7] after a restart of the server clients come back by themselves, under numbers never used before',
    async () => {
      const roomId = freshRoomId('restart');
      const visitors = [await enter(server, { roomId, userId: 'al' }), await enter(server, { roomId, userId: 'bo' })];
      const before = visitors.map(({ actor }) => actor());
      await server.restart();
      for (const [index, { room, actor, network }] of visitors.entries()) {
        await until('the client is back', () => room.getStatus() === 'connected' && actor() !== before[index]);
        expect(network.closeCodes[0]).toBe(1012);
      }
      const after = visitors.map(({ actor }) => actor());
      expect(new Set([...before, ...after]).size).toBe(4);
      for (const { room } of visitors) await until('both see each other', () => room.getOthers().length === 1);
    },
  );
});
