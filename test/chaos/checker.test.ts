import { describe, expect, test } from 'vitest';
import { check } from './checks/check.ts';
import type { Audit, Evidence, FinalRead } from './checks/evidence.ts';
import { compact, has, listOf } from './compact-ids.ts';
import type { Op, Read, Replay, Result } from './history.ts';
import { GROUPS, nameOf, planOf } from './plan.ts';

const ROOM = 'r';
const LIST = ['keyedPush.a.0', 'faithfulPush.b.0', 'keyedPush.a.1', 'faithfulPush.b.1'];

function op(id: string, [t0, t1]: [number, number | null], result: Result = 'ok'): Op {
  const [kind = '', client = ''] = id.split('.');
  return { id, kind, client, room: ROOM, t0, t1, result };
}

function content(list: readonly string[] = LIST): FinalRead['content'] {
  return {
    storage: { list, map: { 'faithfulSet.b.0': 1 }, text: [['«sdkText.c.1»«sdkText.c.0»']] },
    ydoc: '«keyedYdoc.a.0»',
  };
}

/** What is changed to forge a history; all that `Evidence` holds. */
interface Forgeable extends Evidence {
  ops: Op[];
  reads: Read[];
  replays: Replay[];
  shown: Map<string, string>;
  finals: FinalRead[];
  replicas: Evidence['replicas'][number][];
  attendance: Evidence['attendance'][number][];
  rooms: string[];
  audit: { claims: Audit['claims'][number][]; entries: Audit['entries'][number][]; streams: Audit['streams'][number][] };
}

/** A run in which all is well: two owners, one unanswered write that is there and one that is not, one that was refused. */
function aRun(): Forgeable {
  const last = (route: string, phase: FinalRead['phase']): FinalRead => ({ route, phase, room: ROOM, content: content() });
  return {
    ops: [
      op('keyedPush.a.0', [0, 10]),
      op('faithfulPush.b.0', [5, 20]),
      op('keyedPush.a.1', [11, 30]),
      op('faithfulPush.b.1', [6, null], 'unknown'),
      op('forgetfulPush.d.0', [8, null], 'unknown'),
      op('plainPush.e.0', [9, 12], 'fail'),
      op('faithfulSet.b.0', [7, 21]),
      op('sdkText.c.0', [0, 40]),
      op('sdkText.c.1', [1, 40]),
      op('keyedYdoc.a.0', [31, 35]),
      op('keyedRoom.a.0', [36, 38]),
    ],
    reads: [
      { client: 'f', room: ROOM, parts: ['list', 'map', 'text'], t0: 11, t1: 15, seen: compact(['keyedPush.a.0']) },
      { client: 'f', room: ROOM, parts: ['ydoc'], t0: 36, t1: 39, seen: compact(['keyedYdoc.a.0']) },
    ],
    replays: [{ id: 'keyedPush.a.0', first: '200 ', again: '200 ' }],
    shown: new Map([['faithfulPush.b.1', 'd']]),
    finals: [
      last('REST of n0', 'before the restart'),
      last('REST of n0', 'after the restart'),
      last('sockets of n1', 'after the restart'),
    ],
    replicas: [
      { client: 'c', room: ROOM, storage: content().storage },
      { client: 'g', room: ROOM, ydoc: content().ydoc },
    ],
    attendance: [{ observer: 'c', room: ROOM, seen: ['raw', 'sdk'], there: ['sdk', 'raw'] }],
    rooms: ['keyedRoom.a.0'],
    audit: {
      claims: [
        { at: 1, stream: 7, epoch: 1, owner: 'x', former: null },
        { at: 4, stream: 7, epoch: 2, owner: 'y', former: 'x' },
      ],
      entries: [
        { at: 2, stream: 7, version: 2, count: 2, epoch: 1, ruling: 1 },
        { at: 3, stream: 7, version: 3, count: 1, epoch: 1, ruling: 1 },
        { at: 5, stream: 7, version: 5, count: 2, epoch: 2, ruling: 2 },
      ],
      streams: [
        {
          ...{ stream: 7, epoch: 2, snapshotVersion: 3, snapshots: [2, 3] },
          kept: [
            { version: 3, count: 1, epoch: 1 },
            { version: 5, count: 2, epoch: 2 },
          ],
        },
      ],
    },
  };
}

/** Changes the rooms as every route reads them in the end. */
function everywhere(run: Forgeable, list: readonly string[]): void {
  run.finals = run.finals.map((final) => ({ ...final, content: content(list) }));
  run.replicas = run.replicas.map((replica) =>
    replica.storage === undefined ? replica : { ...replica, storage: content(list).storage },
  );
}

function opOf(run: Forgeable, id: string): Op {
  return run.ops.find((one) => one.id === id)!;
}

const without = (id: string): string[] => LIST.filter((one) => one !== id);

test('[CX1] nothing is wrong with a run in which all is well, whatever became of what was never answered', () => {
  expect(check(aRun())).toEqual([]);
  const other = aRun();
  everywhere(other, ['forgetfulPush.d.0', ...without('faithfulPush.b.1')]);
  other.shown.clear();
  expect(check(other)).toEqual([]);
});

const FORGERIES: readonly [check: string, what: string, (run: Forgeable) => void][] = [
  ['C1', 'an acknowledged write is gone', (run) => everywhere(run, without('faithfulPush.b.0'))],
  ['C1', 'an acknowledged write is there twice', (run) => everywhere(run, [...LIST, 'faithfulPush.b.0'])],
  ['C1', 'a room that was made is not there', (run) => void run.rooms.pop()],
  ['C2', 'an unanswered write is there twice', (run) => everywhere(run, [...LIST, 'faithfulPush.b.1'])],
  ['C2', 'a write that was refused is there', (run) => everywhere(run, ['plainPush.e.0', ...LIST])],
  ['C2', 'something is there that nobody wrote', (run) => everywhere(run, [...LIST, 'keyedPush.z.9'])],
  ['C2', 'a write of another room is there', (run) => void Object.assign(opOf(run, 'faithfulPush.b.1'), { room: 'other' })],
  ['C2', 'a room is there that nobody asked for', (run) => void run.rooms.push('keyedRoom.z.9')],
  ['C3', 'a node reads the same in another order', (run) => disagree(run, 2, [LIST[1]!, LIST[0]!, ...LIST.slice(2)])],
  ['C3', 'a room has changed over the restart', (run) => disagree(run, 0, [...LIST, 'forgetfulPush.d.0'])],
  [
    'C3',
    'a client has what others lack',
    (run) => void run.replicas.push({ client: 'h', room: ROOM, ydoc: '«keyedYdoc.a.0»«ydocSdk.h.0»' }),
  ],
  ['C3', 'a room cannot be read after the restart', (run) => void run.finals.push({ ...run.finals[0]!, room: 'other' })],
  ['C3', 'somebody who left is still seen', (run) => void Object.assign(run.attendance[0]!, { there: ['sdk'] })],
  ['C4', 'an epoch comes twice', (run) => void run.audit.claims.push({ at: 9, stream: 7, epoch: 2, owner: 'y', former: 'y' })],
  ['C4', 'the versions leave a gap', (run) => void Object.assign(run.audit.entries[2]!, { count: 1 })],
  [
    'C4',
    'the versions fork',
    (run) => void run.audit.entries.push({ at: 6, stream: 7, version: 5, count: 2, epoch: 2, ruling: 2 }),
  ],
  ['C4', 'an entry was trimmed that no snapshot holds', (run) => void Object.assign(run.audit.streams[0]!, { kept: [] })],
  ['C4', 'the pointer names another snapshot', (run) => void Object.assign(run.audit.streams[0]!, { snapshotVersion: 2 })],
  [
    'C5',
    'two workers own a room in one epoch',
    (run) => void run.audit.claims.push({ at: 9, stream: 7, epoch: 2, owner: 'z', former: 'y' }),
  ],
  [
    'C5',
    'an entry is written under an epoch that rules no more',
    (run) => void Object.assign(run.audit.entries[2]!, { epoch: 1 }),
  ],
  ['C5', 'an entry comes after the claim that ended its epoch', (run) => void Object.assign(run.audit.entries[1]!, { at: 4.5 })],
  ['C6', 'a read lacks what was acknowledged before it', (run) => void Object.assign(run.reads[0]!, { seen: {} })],
  ['C6', 'a read lacks what an earlier read held', (run) => forgetAgain(run)],
  ['C7', 'a client finds its own pushes in another order', (run) => everywhere(run, [LIST[2]!, LIST[1]!, LIST[0]!, LIST[3]!])],
  ['C7', 'a push stands before one that ended earlier', (run) => late(run)],
  ['C8', 'what others were told of is gone', (run) => void run.shown.set('forgetfulPush.d.0', 'b')],
  [
    'C8',
    'what was read is gone',
    (run) => void Object.assign(run.reads[1]!, { seen: compact(['keyedYdoc.a.0', 'ydocSdk.h.0']) }),
  ],
  ['C9', 'a request is answered otherwise the second time', (run) => void Object.assign(run.replays[0]!, { again: '409 {}' })],
];

/** One route reads something else than all others. */
function disagree(run: Forgeable, index: number, list: readonly string[]): void {
  run.finals[index] = { ...run.finals[index]!, content: content(list) };
}

/** `keyedPush.a.0` in front of `faithfulPush.b.0`, though it began after that was acknowledged. */
function late(run: Forgeable): void {
  Object.assign(opOf(run, 'faithfulPush.b.0'), { t0: 1, t1: 2 });
  Object.assign(opOf(run, 'keyedPush.a.0'), { t0: 3 });
}

/** An unanswered write is seen by one read, and not by one that begins after. */
function forgetAgain(run: Forgeable): void {
  const before = ['keyedPush.a.0', 'faithfulPush.b.0', 'keyedPush.a.1', 'faithfulSet.b.0'];
  run.reads.push(
    { client: 'f', room: ROOM, parts: ['list', 'map'], t0: 31, t1: 32, seen: compact([...before, 'faithfulPush.b.1']) },
    { client: 'f', room: ROOM, parts: ['list', 'map'], t0: 33, t1: 34, seen: compact(before) },
  );
}

describe('a forged history', () => {
  test.each(FORGERIES)('[CX2] is found out, %s: %s', (expected, _, forge) => {
    const run = aRun();
    forge(run);
    expect(check(run).map((one) => one.check)).toContain(expected);
  });

  test('[CX3] is found out for each promise, C1 to C9', () => {
    const forged = new Set(FORGERIES.map(([expected]) => expected));
    expect([...forged].sort()).toEqual(['C1', 'C2', 'C3', 'C4', 'C5', 'C6', 'C7', 'C8', 'C9']);
  });
});

test('[CX4] ids in little room are the same ids', () => {
  const ids = ['a.b.0', 'a.b.1', 'a.b.2', 'a.b.7', 'c.5'];
  const small = compact([...ids, 'a.b.1'].reverse());
  expect(small).toEqual({ 'a.b': [0, 2, 7, 7], c: [5, 5] });
  expect(listOf(small).sort()).toEqual(ids);
  expect(ids.every((id) => has(small, id))).toBe(true);
  expect(['a.b.3', 'a.b.6', 'a.b.8', 'c.4', 'd.0'].some((id) => has(small, id))).toBe(false);
});

describe('the plan of a run', () => {
  const options = { forMs: 600_000, nodes: 3, workers: 2, groups: GROUPS };

  test('[CX5] follows from its seed, and another from another', () => {
    const names = (seed: number): string[] => planOf({ ...options, seed }).map(nameOf);
    expect(names(1)).toEqual(names(1));
    expect(names(1)).not.toEqual(names(2));
  });

  test('[CX6] has at most three faults at once, no two on one thing, and only kinds that were asked for', () => {
    for (let seed = 1; seed <= 20; seed += 1) {
      const plan = planOf({ ...options, seed });
      expect(plan.length).toBeGreaterThan(50);
      for (const { atMs } of plan) {
        const on = plan.filter((fault) => fault.atMs <= atMs && atMs < fault.atMs + fault.lastsMs);
        expect(on.length).toBeLessThanOrEqual(3);
      }
    }
    const alone = planOf({ ...options, seed: 1, groups: ['redis'] });
    expect(alone.length).toBeGreaterThan(0);
    expect(alone.every(({ action }) => action.do.endsWith('redis'))).toBe(true);
    expect(alone.some(({ atMs, lastsMs }, index) => (alone[index + 1]?.atMs ?? Infinity) < atMs + lastsMs)).toBe(false);
    expect(planOf({ ...options, seed: 1, groups: [] })).toEqual([]);
  });
});
