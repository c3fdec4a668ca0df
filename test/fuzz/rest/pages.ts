/** Lists that are read page by page, while some of what they list is deleted: what stays is shown once, and nothing else. */
import { ask, roomPath } from '../../support/e2e/rest.ts';
import { freshRoomId, type TestServer } from '../../support/e2e/server.ts';
import { accessTokenFor } from '../../support/e2e/tokens.ts';
import { until } from '../../support/e2e/until.ts';
import { Dice } from '../dice.ts';
import { hostileText } from './hostile.ts';

interface List {
  readonly path: string;
  /** The parameter for the next page. */
  readonly cursor: string;
  readonly ids: readonly string[];
  readonly idsIn: (answer: any) => string[];
  readonly remove?: (id: string) => Promise<unknown>;
  readonly bearer?: string;
}

export async function playPages(server: TestServer, seed: number): Promise<string[]> {
  const dice = new Dice(seed);
  const faults: string[] = [];
  for (const make of LISTS) faults.push(...(await readThrough(server, dice, await make(server, dice))));
  return faults;
}

async function readThrough(server: TestServer, dice: Dice, list: List): Promise<string[]> {
  const seen: string[] = [];
  const removed = new Set<string>();
  let cursor: string | null = null;
  for (let pages = 0; pages < PAGES_MAX; pages += 1) {
    const query = new URLSearchParams({ limit: String(1 + dice.below(4)), ...(cursor !== null && { [list.cursor]: cursor }) });
    const answer = await ask(
      server,
      `${list.path}${list.path.includes('?') ? '&' : '?'}${query}`,
      list.bearer === undefined ? {} : { bearer: list.bearer },
    );
    if (answer.status !== 200) return [`${list.path} ${query}: ${answer.status} ${answer.text}`];
    seen.push(...list.idsIn(answer.json));
    cursor = answer.json.nextCursor ?? answer.json.meta?.nextCursor ?? null;
    if (cursor === null) break;
    const victim = dice.pick(list.ids);
    if (list.remove !== undefined && dice.chance(0.3) && !removed.has(victim)) {
      removed.add(victim);
      await list.remove(victim);
    }
  }
  const ours = seen.filter((id) => list.ids.includes(id));
  const twice = ours.filter((id, at) => ours.indexOf(id) !== at);
  const missing = list.ids.filter((id) => !ours.includes(id) && !removed.has(id));
  return [
    ...twice.map((id) => `${list.path} shows ${id} twice`),
    ...missing.map((id) => `${list.path} does not show ${id}`),
    ...(cursor === null ? [] : [`${list.path} has no end`]),
  ];
}

/** Some lists also show what was made for others. */
const PAGES_MAX = 5_000;
const COUNT = 11;
const some = <Made>(make: (index: number) => Promise<Made>): Promise<Made[]> =>
  Promise.all(Array.from({ length: COUNT }, (_, index) => make(index)));
const dataIds = ({ data }: { data: { id: string }[] }): string[] => data.map(({ id }) => id);
const name = (dice: Dice): string =>
  hostileText(dice)
    .slice(0, 20)
    .replaceAll(/[\p{Cc}\p{Surrogate}*]/gu, '');
async function posted(server: TestServer, path: string, json?: object): Promise<any> {
  const answer = await ask(server, path, { method: 'POST', ...(json !== undefined && { json }) });
  if (answer.status >= 300) throw new Error(`${path} ${JSON.stringify(json)}: ${answer.status} ${answer.text}`);
  return answer.text === '' ? null : answer.json;
}
const deleted = (server: TestServer, path: string) => ask(server, path, { method: 'DELETE' });

const LISTS: readonly ((server: TestServer, dice: Dice) => Promise<List>)[] = [
  async (server, dice) => {
    const prefix = freshRoomId('pages') + name(dice);
    const names = Array.from({ length: COUNT }, (_, n) => `${prefix}${n}${name(dice)}`);
    const ids = await some(
      async (n) =>
        (await posted(server, '/v2/rooms', { id: names[n], defaultAccesses: [], metadata: { [`m${name(dice)}`]: 'a' } })).id,
    );
    const path = `/v2/rooms?query=${encodeURIComponent(`roomId^${JSON.stringify(prefix)}`)}`;
    return { path, cursor: 'startingAfter', ids, idsIn: dataIds, remove: (id) => deleted(server, roomPath(id)) };
  },
  async (server, dice) => {
    const own = freshRoomId('pages');
    const names = Array.from({ length: COUNT }, (_, n) => `${own}${n}${name(dice)}`);
    const ids = await some(async (n) => (await posted(server, '/v2/groups', { id: names[n] })).id);
    return {
      path: '/v2/groups',
      cursor: 'startingAfter',
      ids,
      idsIn: dataIds,
      remove: (id) => deleted(server, `/v2/groups/${encodeURIComponent(id)}`),
    };
  },
  async (server, dice) => {
    const userId = freshRoomId('pages') + name(dice);
    const ids = await some(async (n) => (await posted(server, '/v2/groups', { id: `${userId}${n}`, memberIds: [userId] })).id);
    return {
      path: `/v2/users/${encodeURIComponent(userId)}/groups`,
      cursor: 'startingAfter',
      ids,
      idsIn: dataIds,
      remove: (id) => deleted(server, `/v2/groups/${encodeURIComponent(id)}`),
    };
  },
  async (server) => {
    const ids = await some(
      async (n) =>
        (
          await posted(server, '/v2/schemas', {
            name: `${freshRoomId('p').replaceAll(':', '-')}${n}`,
            body: 'type Storage { n?: number }',
          })
        ).id,
    );
    return {
      path: '/v2/schemas',
      cursor: 'startingAfter',
      ids,
      idsIn: dataIds,
      remove: (id) => deleted(server, `/v2/schemas/${id}`),
    };
  },
  async (server) => {
    const roomId = freshRoomId('pages');
    await posted(server, '/v2/rooms', { id: roomId, defaultAccesses: [] });
    const ids = await some(async () => (await posted(server, roomPath(roomId, '/versions'))).data.id);
    return {
      path: roomPath(roomId, '/versions'),
      cursor: 'cursor',
      ids: [...new Set(ids)],
      idsIn: dataIds,
      remove: (id) => deleted(server, roomPath(roomId, `/versions/${id}`)),
    };
  },
  async (server, dice) => {
    const userId = freshRoomId('pages') + name(dice);
    const user = `/v2/users/${encodeURIComponent(userId)}/inbox-notifications`;
    await some((n) =>
      posted(server, '/v2/inbox-notifications/trigger', { userId, kind: '$k', subjectId: `${n}${name(dice)}`, activityData: {} }),
    );
    const notified = async () => dataIds((await ask(server, `${user}?limit=50`)).json);
    await until('all are notified', async () => (await notified()).length === COUNT);
    const ids = await notified();
    const bearer = dice.chance(0.5) ? await accessTokenFor(server, { userId }) : undefined;
    const remove = (id: string) => deleted(server, `${user}/${id}`);
    return bearer === undefined
      ? { path: user, cursor: 'startingAfter', ids, idsIn: dataIds, remove }
      : {
          path: '/v2/c/inbox-notifications',
          cursor: 'cursor',
          ids,
          idsIn: ({ inboxNotifications }) => dataIds({ data: inboxNotifications }),
          remove,
          bearer,
        };
  },
  async (server, dice) => {
    const roomId = freshRoomId('pages');
    await posted(server, '/v2/rooms', { id: roomId, defaultAccesses: [] });
    const comment = {
      userId: 'u',
      body: { version: 1, content: [] },
      createdAt: dice.pick(['1970-01-01T00:00:00Z', '2026-01-02T03:04:05.678Z', '9999-01-01T00:00:00Z']),
    };
    const ids = await some(async () => (await posted(server, roomPath(roomId, '/threads'), { comment })).id);
    const bearer = await accessTokenFor(server, { userId: 'u' });
    const path = dice.chance(0.5)
      ? `/v2/c/rooms/${encodeURIComponent(roomId)}/threads`
      : `/v2/c/rooms/${encodeURIComponent(roomId)}/threads?query=${encodeURIComponent('resolved:false')}`;
    return {
      path,
      cursor: 'cursor',
      ids,
      bearer,
      idsIn: ({ data }) => dataIds({ data }),
      remove: (id) => deleted(server, roomPath(roomId, `/threads/${id}`)),
    };
  },
  async (server, dice) => {
    const userId = freshRoomId('pages') + name(dice);
    const ids = await some(async (n) => {
      const roomId = `${freshRoomId('pages')}${n}`;
      await posted(server, '/v2/rooms', { id: roomId, defaultAccesses: ['*:write'] });
      await posted(server, roomPath(roomId, `/users/${encodeURIComponent(userId)}/subscription-settings`), { threads: 'all' });
      return roomId;
    });
    return {
      path: `/v2/users/${encodeURIComponent(userId)}/room-subscription-settings`,
      cursor: 'startingAfter',
      ids,
      idsIn: ({ data }) => data.map((one: { roomId: string }) => one.roomId),
      remove: (id) => deleted(server, roomPath(id)),
    };
  },
];
