import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import * as Y from 'yjs';
import { pack, unpack } from '../../src/base/binary.ts';
import type { RequestKey } from '../../src/base/ids.ts';
import {
  AUTHORS_MAX,
  hasUnkeptChanges,
  TAKEN_BYTES_MAX,
  TAKEN_MAX,
  type TakenVersion,
  unkeptAuthors,
} from '../../src/room/history.ts';
import { decodeVersion } from '../../src/room/history-body.ts';
import { decodeRecords, encodeRecord, type JournalRecord } from '../../src/room/journal-record.ts';
import { REQUEST_AGE_MS_MAX } from '../../src/room/recent-requests.ts';
import type { Command, Effect, RoomState } from '../../src/room/shapes.ts';
import { encodeSnapshot, replayRecord, restoreSnapshot } from '../../src/room/snapshot.ts';
import { aRoom, id, join, newcomer, READER, say } from '../support/a-room.ts';
import { nodesIn, serializedNodes } from '../support/storage-documents.ts';

let ops = 0;
const set = (from: string): Command => {
  ops += 1;
  return { type: 'storage.change', from: id(from), ops: [{ type: 3, id: 'root', opId: `9:${ops}`, data: { a: ops } }] };
};
const typed = (text: string): Uint8Array => {
  const doc = new Y.Doc();
  doc.getText('text').insert(0, text);
  return Y.encodeStateAsUpdate(doc);
};
const type = (from: string | null, text = 'x', guid = ''): Command => ({
  type: 'ydoc.change',
  from: from === null ? null : id(from),
  guid,
  update: typed(text),
});
const KEEP: Command = { type: 'history.keep' };
const keyed = (name: string, digest = `of ${name}`): Command & { request: RequestKey } => ({
  type: 'history.keep',
  request: { id: name, digest },
});

const journaled = (effects: readonly Effect[]): JournalRecord[] =>
  effects.flatMap((effect) => (effect.type === 'journal' ? [effect.record] : []));
const taken = (effects: readonly Effect[]): TakenVersion => {
  const keeps = effects.flatMap((effect) => (effect.type === 'keep' ? [effect.version] : []));
  expect(keeps).toHaveLength(1);
  return keeps[0]!;
};
const take = (room: RoomState, command: Command = KEEP, nowMs = 0): TakenVersion => taken(say(room, command, nowMs));
const settle = (room: RoomState, { id }: TakenVersion, outcome: 'kept' | 'found' | 'not kept' = 'kept'): Effect[] =>
  say(room, { type: 'history.settle', id, outcome });

/** The room as another owner finds it. */
function takenOver(snapshot: { version: number; bytes: Uint8Array } | null, records: readonly JournalRecord[]): RoomState {
  const room = aRoom();
  if (snapshot !== null) restoreSnapshot(room, snapshot);
  for (const record of decodeRecords(Buffer.concat(records.map(encodeRecord)))) replayRecord(room, record);
  return room;
}

describe('authors', () => {
  test('[VH1] are the users who changed Storage or a Yjs document since the version before, each once, the first first', () => {
    const room = aRoom('cyd', 'ann', 'bob');
    for (const command of [set('bob'), type('ann'), set('ann'), set('bob')]) say(room, command);
    expect(take(room).authors).toEqual(['bob', 'ann']);
    say(room, set('ann'));
    expect(take(room).authors).toEqual(['ann']);
    expect(take(room).authors).toEqual([]);
  });

  test('[VH1] y-websocket clients are among them', () => {
    const room = aRoom(newcomer('yan', { kind: 'yjs' }));
    say(room, type('yan'));
    expect(take(room).authors).toEqual(['yan']);
  });

  test('[VH2] are not those who changed nothing: who only read, were refused, or sent what was there', () => {
    const room = aRoom('ann', newcomer('rea', { permissions: READER }));
    say(room, type('ann', 'same'));
    take(room);
    const again = typed('other');
    for (const _ of [1, 2]) say(room, { type: 'ydoc.change', from: null, guid: '', update: again });
    say(room, { type: 'ydoc.change', from: id('ann'), guid: '', update: again });
    say(room, set('rea'));
    say(room, { type: 'presence.patch', from: id('ann'), data: { x: 1 }, targetActor: null });
    say(room, { type: 'storage.change', from: id('ann'), ops: [{ type: 5, id: '9:9', opId: '1:1' }] });
    expect(take(room).authors).toEqual([]);
  });

  test('[VH2] nor who has no name, nor a back end', () => {
    const room = aRoom(newcomer('anonymous', { userId: null }));
    say(room, set('anonymous'));
    say(room, type('anonymous'));
    say(room, type(null, 'rest'));
    say(room, { type: 'storage.patch', operations: [{ op: 'add', path: '/b', value: 1 }] });
    say(room, { type: 'storage.delete' });
    expect(take(room).authors).toEqual([]);
    expect(hasUnkeptChanges(room.history)).toBe(true);
  });

  test('[VH3] only the first change of a user since a version says in the journal whose it is', () => {
    const room = aRoom('ann', 'bob');
    const authorOf = (command: Command) => journaled(say(room, command)).map((record) => 'author' in record && record.author);
    expect([set('ann'), set('ann'), type('ann'), set('bob'), type('bob')].flatMap(authorOf)).toEqual([
      'ann',
      false,
      false,
      'bob',
      false,
    ]);
    take(room);
    expect([type('ann'), set('ann')].flatMap(authorOf)).toEqual(['ann', false]);
  });

  test('[VH4] of a version that could not be kept are named by the next one', () => {
    const room = aRoom('ann', 'bob');
    say(room, set('ann'));
    const lost = take(room);
    say(room, set('bob'));
    expect(settle(room, lost, 'not kept')).toEqual([]);
    expect(take(room).authors).toEqual(['ann', 'bob']);
  });

  test('[VH4] a version that is taken while another is on its way has those who came between', () => {
    const room = aRoom('ann', 'bob', 'cyd');
    say(room, set('ann'));
    const first = take(room);
    say(room, set('bob'));
    const second = take(room);
    expect([first.authors, second.authors]).toEqual([['ann'], ['bob']]);
    settle(room, second);
    settle(room, first, 'not kept');
    say(room, set('cyd'));
    expect(take(room).authors).toEqual(['ann', 'cyd']);
  });

  test('[VH5] of a crowd the first thousand are named', () => {
    const room = aRoom();
    for (let n = 0; n < AUTHORS_MAX + 2; n += 1) {
      join(room, newcomer(`u${n}`));
      say(room, set(`u${n}`));
      say(room, { type: 'session.leave', sessionId: id(`u${n}`) });
    }
    const { authors } = take(room);
    expect([authors.length, authors[0], authors.at(-1)]).toEqual([AUTHORS_MAX, 'u0', `u${AUTHORS_MAX - 1}`]);
  });
});

describe('the next owner', () => {
  /** What a command of the property is, as a number of people and of kinds. */
  const STEP = fc.record({ who: fc.constantFrom('ann', 'bob', 'cyd'), what: fc.integer({ min: 0, max: 6 }) });
  const OUTCOMES = { 4: 'kept', 5: 'not kept', 6: 'found' } as const;

  test('[VH6] knows the authors from snapshot and journal, wherever the one ends and the other begins', () => {
    fc.assert(
      fc.property(fc.array(STEP, { maxLength: 30 }), fc.nat(), (steps, cut) => {
        const room = aRoom('ann', 'bob', 'cyd');
        let snapshot: { version: number; bytes: Uint8Array } | null = null;
        const records: JournalRecord[] = [];
        steps.forEach(({ who, what }, at) => {
          if (at === cut % (steps.length + 1)) {
            snapshot = { version: room.version, bytes: encodeSnapshot(room) };
            records.length = 0;
          }
          const [oldest] = room.history.taken.values();
          if (what <= 1) records.push(...journaled(say(room, set(who))));
          else if (what === 2) records.push(...journaled(say(room, type(who))));
          else if (what === 3 && room.history.taken.size < TAKEN_MAX) take(room, keyed(`${at}`), at);
          else if (oldest !== undefined) records.push(...journaled(settle(room, oldest, OUTCOMES[what as 4 | 5 | 6])));
        });
        const next = takenOver(snapshot, records);
        expect(next.version).toBe(room.version);
        expect(unkeptAuthors(next.history).sort()).toEqual(unkeptAuthors(room.history).sort());
        expect(take(next).authors.length).toBe(unkeptAuthors(room.history).length);
        const { changedAt, keptUpTo, keptAtMs } = room.history;
        expect(next.history).toMatchObject({ changedAt, keptUpTo, keptAtMs });
      }),
      { numRuns: 300 },
    );
  });

  test('[VH6] of a room saved before there were versions has everything in none, and nobody to name', () => {
    const room = aRoom('ann');
    say(room, set('ann'));
    const { history: _, ...older } = unpack(encodeSnapshot(room)) as { history: unknown };
    const next = takenOver({ version: room.version, bytes: pack({ ...older, format: 2 }) }, []);
    expect([hasUnkeptChanges(next.history), unkeptAuthors(next.history)]).toEqual([true, []]);
  });

  test('[VH6] reads a journal written before there were versions', () => {
    const bytes = Buffer.concat([
      pack([1, JSON.stringify([{ type: 3, id: 'root', opId: '1:1', data: { a: 1 } }])]),
      pack([3, '', typed('x')]),
    ]);
    expect(decodeRecords(bytes).map((record) => Object.keys(record))).toEqual([
      ['kind', 'ops'],
      ['kind', 'guid', 'update'],
    ]);
  });
});

describe('a version', () => {
  test('[VH7] holds Storage and every Yjs document of the decision that took it, whatever comes later', () => {
    const room = aRoom('ann');
    const node = (serviceType: string, data: unknown) => ({ serviceType, data });
    const root = node('LiveObject', {
      title: 'Plan \ud83d\ude00 \ud83d',
      list: node('LiveList', [1, node('LiveMap', { k: 'v' })]),
      text: node('LiveText', [['bold', { b: true }]]),
    });
    say(room, { type: 'storage.initialize', root: root as never, typeKey: 'serviceType' });
    for (const [guid, text] of Object.entries({ '': 'root', sub: 'inner' })) say(room, type('ann', text, guid));
    const nodes = serializedNodes(room.storage);
    const { body, version } = take(room);
    expect(version).toBe(room.version);
    say(room, { type: 'storage.delete' });
    say(room, type('ann', 'later'));
    const { storage, ydocs } = decodeVersion(body);
    const lines = Buffer.from(storage).toString();
    expect(lines.endsWith('\n')).toBe(true);
    expect(nodesIn(lines)).toEqual(nodes);
    expect(nodes[0]).toEqual(['root', { type: 0, data: { title: 'Plan \ud83d\ude00 \ud83d' } }]);
    const textOf = (guid: string): string => {
      const doc = new Y.Doc();
      Y.applyUpdate(doc, ydocs.get(guid)!);
      return doc.getText('text').toString();
    };
    expect([[...ydocs.keys()], textOf(''), textOf('sub')]).toEqual([['', 'sub'], 'root', 'inner']);
  });

  test('[VH7] of an empty room has a root and no document', () => {
    const { storage, ydocs } = decodeVersion(take(aRoom()).body);
    expect([Buffer.from(storage).toString(), ydocs.size]).toEqual(['["root",{"type":0,"data":{}}]\n', 0]);
  });

  test('[VH7] of a later format is not guessed at', () => {
    const bytes = pack({ ...(unpack(take(aRoom()).body) as object), format: 2 });
    expect(() => decodeVersion(bytes)).toThrow(expect.objectContaining({ code: 'ROOM_UNREADABLE' }));
  });

  test('[VH8] has an id of its own, made from the request if there is one', () => {
    const room = aRoom();
    const ids = [take(room), take(room)].map(({ id }) => id);
    for (const found of ids) expect(found).toMatch(/^vh_[\w-]{21}$/);
    expect(new Set(ids).size).toBe(2);
    const [first, again, other] = ['one', 'one', 'two'].map((name) => take(aRoom(), keyed(name)).id);
    expect(first).toMatch(/^vh_[\w-]{21}$/);
    expect([again === first, other === first]).toEqual([true, false]);
  });

  test('[VH9] that is kept is journaled with its request in one decision, and what changed since is still in none', () => {
    const room = aRoom('ann', 'bob');
    say(room, set('ann'));
    const version = take(room, keyed('one'), 70);
    say(room, set('bob'));
    const before = room.version;
    expect(journaled(settle(room, version))).toEqual([
      { kind: 'history.kept', upTo: version.version, atMs: 70, authors: ['bob'] },
      { kind: 'request', id: 'one', digest: 'of one', atMs: 70, answer: null },
    ]);
    expect(room.version).toBe(before + 2);
    expect([hasUnkeptChanges(room.history), room.history.keptAtMs]).toEqual([true, 70]);
    settle(room, take(room, KEEP, 80));
    expect([hasUnkeptChanges(room.history), room.history.keptAtMs]).toEqual([false, 80]);
  });

  test('[VH9] of which the room does not know is not settled', () => {
    const room = aRoom('ann');
    say(room, set('ann'));
    const version = take(room);
    settle(room, version);
    const before = room.version;
    for (const outcome of ['kept', 'not kept'] as const) expect(settle(room, version, outcome)).toEqual([]);
    expect([room.version, unkeptAuthors(room.history)]).toEqual([before, []]);
  });

  test('[VH10] is refused while too many are on their way, and taken again when one has ended', () => {
    const room = aRoom('ann');
    say(room, set('ann'));
    const versions = Array.from({ length: TAKEN_MAX }, () => take(room));
    say(room, set('ann'));
    expect(() => say(room, KEEP)).toThrow(expect.objectContaining({ code: 'ROOM_OVERLOADED' }));
    expect(unkeptAuthors(room.history)).toEqual(['ann']);
    settle(room, versions[2]!, 'not kept');
    expect(take(room).authors).toEqual(['ann']);
  });
});

test('[VH10] or hold too much memory', () => {
  const room = aRoom('ann');
  const large = { ...take(room), body: new Uint8Array(TAKEN_BYTES_MAX) };
  room.history.taken.set(large.id, large);
  expect(() => say(room, KEEP)).toThrow(expect.objectContaining({ code: 'ROOM_OVERLOADED' }));
  room.history.taken.set(large.id, { ...large, body: new Uint8Array(TAKEN_BYTES_MAX - 1) });
  take(room);
});

describe('a request that comes again', () => {
  test('[VH11] while its version is on its way waits for the same one', () => {
    const room = aRoom('ann');
    const first = take(room, keyed('one'));
    say(room, set('ann'));
    expect(take(room, keyed('one'))).toBe(first);
    expect(room.history.taken.size).toBe(1);
    expect(() => say(room, keyed('one', 'else'))).toThrow(expect.objectContaining({ code: 'IDEMPOTENCY_KEY_REUSED' }));
  });

  test.each(['here', 'at the next owner'])('[VH11] once it is kept is answered with its id, %s', (where) => {
    const room = aRoom('ann');
    const first = take(room, keyed('one'));
    const effects = settle(room, first);
    const owner = where === 'here' ? room : takenOver(null, journaled(effects));
    expect(say(owner, keyed('one'))).toEqual([{ type: 'reply', value: { id: first.id }, when: 'durable' }]);
    expect(() => say(owner, keyed('one', 'else'))).toThrow(expect.objectContaining({ code: 'IDEMPOTENCY_KEY_REUSED' }));
    const other: Command = { type: 'storage.delete', request: { id: 'one', digest: 'a deletion' } };
    expect(() => say(owner, other)).toThrow(expect.objectContaining({ code: 'IDEMPOTENCY_KEY_REUSED' }));
  });

  test('[VH11] when it was not kept is a new one, under the same id', () => {
    const room = aRoom('ann');
    const first = take(room, keyed('one'));
    settle(room, first, 'not kept');
    say(room, set('ann'));
    const again = take(room, keyed('one'));
    expect([again.id, again.authors]).toEqual([first.id, ['ann']]);
  });

  test('[VH35] and finds what it had made is answered with its id from then on, by whatever owner; changes are in none, their authors in the next', () => {
    const room = aRoom('ann', 'bob');
    const records = journaled(say(room, set('ann')));
    settle(room, take(room, keyed('one'), 70), 'not kept'); // as far as anybody knows
    records.push(...journaled(say(room, set('bob'))));
    const again = take(room, keyed('one'), 80);
    const settled = journaled(settle(room, again, 'found'));
    expect(settled).toEqual([{ kind: 'request', id: 'one', digest: 'of one', atMs: 80, answer: null }]);
    for (const owner of [room, takenOver(null, [...records, ...settled])]) {
      expect([hasUnkeptChanges(owner.history), owner.history.keptUpTo, owner.history.keptAtMs]).toEqual([true, 0, 0]);
      expect(say(owner, keyed('one'), 90)).toEqual([{ type: 'reply', value: { id: again.id }, when: 'durable' }]);
      expect(take(owner, keyed('two'), 90).authors).toEqual(['ann', 'bob']);
    }
  });

  test('[VH33] within a day is answered with the id of its version, also past midnight; a day later its key makes another one', () => {
    const room = aRoom('ann');
    const late = REQUEST_AGE_MS_MAX - 1;
    const first = take(room, keyed('one'), late);
    expect(take(room, keyed('one'), late + 1)).toBe(first);
    settle(room, first);
    const answered = say(room, keyed('one'), late + REQUEST_AGE_MS_MAX);
    expect(answered).toEqual([{ type: 'reply', value: { id: first.id }, when: 'durable' }]);
    const other = take(room, keyed('one'), late + REQUEST_AGE_MS_MAX + 1);
    expect(other.id).not.toBe(first.id);
    settle(room, other);
    expect(say(room, keyed('one'), late + REQUEST_AGE_MS_MAX + 2)).toMatchObject([{ value: { id: other.id } }]);
  });
});
