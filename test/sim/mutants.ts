/**
 * Tests of the tests: workers with one mistake each in what they are given, one for every rule that the design rests on (reliability 3.1). The
 * simulation has to catch every one. The code under test has no switches: the mistakes are made between it and the database, the clock,
 * the clients.
 */
import type { Clock } from '../../src/base/clock.ts';
import { AppError } from '../../src/base/errors.ts';
import type { Sql } from '../../src/kernel/persistence/sql.ts';
import { RoomActor } from '../../src/room/room-actor.ts';
import type { Command } from '../../src/room/shapes.ts';
import type { Worker } from '../../src/room/worker.ts';
import type { FakeRedis } from './cluster.ts';
import {
  appendBlindly,
  believeHints,
  believingAnyRow,
  epochFromRedis,
  forgetRequestsInJournal,
  forgetRequestsInSnapshot,
  instead,
  readBeforeClaim,
  resumeWhatever,
  sayingAllWritten,
  settingValues,
  trimBeforeSave,
  withoutRecalls,
  withoutWaiting,
} from './mutant-sql.ts';
import type { Fault } from './nemesis.ts';
import type { FakeTables } from './postgres/tables.ts';
import { LIST_ID, TEXT_ID } from './rooms.ts';
import type { Life } from './workers.ts';
import type { Process } from './world.ts';

export interface Mutant {
  readonly what: string;
  /** The fault that brings it out; without one, it shows whatever goes wrong. */
  readonly under?: Fault;
  /** Where to begin; a first seed that shows it, when few do. */
  readonly from?: number;
  /** Stands between a worker and its database. */
  readonly sql?: (db: Sql, around: Around) => Sql;
  /** Whether supervisors fence processes that are paused. */
  readonly isHasty?: boolean;
  readonly clock?: (process: Process) => Clock;
  /** What becomes of a command on its way into the cluster. */
  readonly sent?: (command: Command) => Command;
  /** What a client hears in the place of an error. */
  readonly heard?: (error: unknown) => unknown;
  /** Changes the code itself, for all workers of this process; what it returns puts it back. */
  readonly patch?: () => () => void;
  readonly started?: (worker: Worker, life: Life) => void;
}

export interface Around {
  readonly life: Life;
  readonly address: string;
  readonly redis: FakeRedis;
  readonly tables: FakeTables;
}

export const NONE: Mutant = { what: 'the code as it is' };

export const MUTANTS: Readonly<Record<string, Mutant>> = {
  M1: {
    under: 'isolate',
    from: 518,
    what: 'an append looks at the epoch without locking it',
    sql: instead({
      append: 'mutant: append without a lock',
      'append one': 'mutant: append without a lock',
      'append without waiting': 'mutant: append without a lock',
    }),
  },
  M2: { what: 'acknowledged before it is written', sql: withoutWaiting(() => true) },
  M3: { under: 'isolate', what: 'the journal is trimmed before the snapshot is committed', sql: trimBeforeSave },
  M4: { what: 'epochs come from Redis, which forgets', sql: epochFromRedis },
  M5: { what: 'a request that comes again is not recognised', sent: (command) => asIfNew(command) },
  M6: { what: 'an append with an unknown outcome is appended again behind itself', sql: appendBlindly },
  M7: { under: 'isolate', what: 'reads are answered without a look at the lease', patch: suspendNobody },
  M8: { under: 'isolate', what: 'snapshot and journal are read before the claim', sql: readBeforeClaim },
  M9: {
    under: 'isolate',
    what: 'the snapshot saved last is the newest, whoever saved it',
    sql: instead({ 'save snapshots': 'mutant: the last save wins', 'load snapshots': 'mutant: load what the pointer says' }),
  },
  M10: { what: 'an owner goes on after a fenced append', sql: sayingAllWritten },
  M11: {
    what: 'an actor is taken whether or not the lease of its owner is over',
    sql: instead({ 'look at owner': 'mutant: everybody looks expired', 'fence the expired': 'mutant: fence whoever it is' }),
  },
  M12: {
    under: 'stop database',
    what: 'after a lapse, actors go on from memory without asking whether others had them meanwhile',
    sql: resumeWhatever,
    started: noteResuming,
  },
  M13: { under: 'stand still', what: 'any row in the place of an entry counts as that entry', sql: believingAnyRow },
  N1: { what: 'a hint in the directory is taken for ownership', sql: believeHints },
  N2: { under: 'drain', what: 'a drain does not wait for the journal', sql: withoutWaiting(({ life }) => life.isDraining) },
  N3: {
    under: 'isolate',
    what: 'the database lets the lease go sooner than the worker does',
    sql: settingValues({ register: { 2: 1_500 }, renew: { 0: 1_500 } }),
  },
  N4: { what: 'snapshots forget which requests were decided', sql: forgetRequestsInSnapshot },
  N5: { what: 'the journal forgets which requests were decided', sql: forgetRequestsInJournal },
  N6: { what: 'a claim reserves no numbers', sql: settingValues({ claim: { 1: 0, 5: 0 } }) },
  N7: { what: 'an unknown outcome is called a refusal', heard: refusalForUnknown },
  N8: { under: 'part workers', what: 'an owner does not read which rooms were taken from it', sql: withoutRecalls },
  N9: { under: 'part workers', what: 'a deletion is answered before the owner has closed the room', started: closeAtOnce },
  N10: {
    from: 229,
    under: 'pause',
    what: 'only timers say that the lease is over, nobody looks at the clock',
    clock: clockOfTimers,
  },
  N11: { under: 'crash', what: 'sessions do not join anew when their room has moved', started: keepSessions },
  N12: { under: 'isolate', what: 'a supervisor takes silence for the end of a process', isHasty: true },
};

let renamed = 0;

function asIfNew(command: Command): Command {
  const { request: _, ...rest } = command as Command & { request?: unknown };
  if (rest.type !== 'storage.send') return rest;
  const rename = (id: string | undefined): string | undefined =>
    id === undefined || id === LIST_ID || id === TEXT_ID ? id : `0:${9_000_000_000_000 + ++renamed}`;
  const ops = rest.ops.map((op) => ({ ...op, id: 'id' in op ? rename(op.id) : undefined, opId: rename(op.opId) }));
  return { ...rest, ops } as Command;
}

/** Shows the time at which the last timer ran. */
function clockOfTimers({ clock }: Process): Clock {
  let seenMs = clock.monotonicMs();
  const looking = (task: () => void) => (): void => {
    seenMs = clock.monotonicMs();
    task();
  };
  return {
    ...clock,
    monotonicMs: () => seenMs,
    after: (delayMs, task) => clock.after(delayMs, looking(task)),
    every: (everyMs, task) => clock.every(everyMs, looking(task)),
  };
}

function refusalForUnknown(error: unknown): unknown {
  return error instanceof AppError && error.code === 'OUTCOME_UNKNOWN' ? new AppError('ROOM_MOVED') : error;
}

function noteResuming(worker: Worker, life: Life): void {
  const resume = worker.resume.bind(worker);
  const resumed = async (): Promise<void> => {
    life.isResuming = true;
    await resume();
    life.isResuming = false;
  };
  Object.assign(worker, { resume: resumed });
}

function closeAtOnce(worker: Worker): void {
  const { door } = worker;
  Object.defineProperty(worker, 'door', { value: { ...door, close: async () => undefined } });
}

function suspendNobody(): () => void {
  const { suspend } = RoomActor.prototype;
  RoomActor.prototype.suspend = () => undefined;
  return () => {
    RoomActor.prototype.suspend = suspend;
  };
}

function keepSessions({ gateway }: Worker): void {
  Object.assign(gateway, { loseSessions: () => undefined, workerDown: () => undefined });
}
