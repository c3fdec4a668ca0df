/** Leases and claims in the fake Postgres: what `sql-ownership.ts`, `releases.ts` and `sql-workers.ts` say, and mutants of it. */
import { NUMBERS_PER_CLAIM } from '../../../src/kernel/cluster/ownership.ts';
import {
  type FakeTransaction,
  leaseKey,
  lock,
  lockFitting,
  ownerKey,
  type Rows,
  type Running,
  type Statement,
} from './statement.ts';
import type { LeaseRow, OwnerRow } from './tables.ts';

export function* register(tx: FakeTransaction, [incarnation, address, lastsMs]: readonly any[]): Running {
  const untilMs = tx.nowMs() + lastsMs;
  yield* lock(leaseKey(incarnation), 'update');
  tx.atCommit(() => tx.tables.leases.set(incarnation, { address, untilMs, draining: false, fencedAtMs: null, livedOn: false }));
  return [];
}

/** With `checksLease` false it is the mutant that renews whatever there is. */
export function renew({ checksLease }: { checksLease: boolean }): Statement {
  return function* (tx, [lastsMs, incarnation]) {
    const { leases } = tx.tables;
    const recalls = tx.tables.recalls.filter((recall) => recall.incarnation === incarnation);
    const row = yield* lockFitting(
      { key: leaseKey(incarnation) },
      () => leases.get(incarnation),
      ({ fencedAtMs, untilMs }) => !checksLease || (fencedAtMs === null && untilMs > tx.nowMs()),
    );
    if (row === null) return [];
    const untilMs = tx.nowMs() + lastsMs;
    tx.atCommit(() => leases.set(incarnation, { ...row, untilMs }));
    return [{ recalls: recalls.map(({ stream, epoch }) => ({ stream, epoch })), databaseMs: tx.nowMs() }];
  };
}

const isFenced = (lease: LeaseRow | undefined): boolean => lease !== undefined && lease.fencedAtMs !== null;
export const holdsLease = (lease: LeaseRow | undefined, nowMs: number): boolean =>
  lease !== undefined && lease.fencedAtMs === null && lease.untilMs > nowMs;

function claimable(tx: FakeTransaction, self: string): (row: OwnerRow) => boolean {
  const leases = new Map(tx.tables.leases); // other tables are seen as they were when the statement began, also after a wait
  return ({ owner }) =>
    (owner === null || owner === self || isFenced(leases.get(owner))) && holdsLease(leases.get(self), tx.nowMs());
}

export function isQuarantined({ quarantinedUntilMs }: OwnerRow, nowMs: number): boolean {
  return quarantinedUntilMs !== null && quarantinedUntilMs > nowMs;
}

export function* claim(tx: FakeTransaction, values: readonly any[]): Running {
  const [self, numbers, stream] = values;
  const { tables } = tx;
  const leases = new Map(tables.leases);
  const isClaimable = claimable(tx, self);
  const isFree = (row: OwnerRow): boolean => isClaimable(row) && !isQuarantined(row, tx.nowMs());
  const row = yield* lockFitting({ key: ownerKey(stream) }, () => tables.owners.get(stream), isFree);
  if (row === null) return [];
  const { epoch, numbersNext } = { epoch: row.epoch + 1, numbersNext: row.numbersNext + numbers };
  const loadingSinceMs = row.crashes === 0 ? tx.nowMs() : null;
  tx.atCommit(() => tables.setOwner(stream, { ...row, epoch, owner: self, numbersNext, loadingSinceMs }));
  const last = row.owner === null ? undefined : leases.get(row.owner);
  const from =
    row.owner === null ? 'released' : row.owner === self ? 'own' : hasEndedLoading(row, last, values[7]) ? 'loading' : 'other';
  return [{ stream, epoch, numbersFrom: row.numbersNext, crashes: row.crashes, from }];
}

function hasEndedLoading({ loadingSinceMs }: OwnerRow, last: LeaseRow | undefined, withinMs: number): boolean {
  return last !== undefined && !last.livedOn && loadingSinceMs !== null && loadingSinceMs > last.untilMs - withinMs;
}

function ownedUnder(tx: FakeTransaction, { stream, epoch }: { stream: number; epoch: number }) {
  return lockFitting(
    { key: ownerKey(stream) },
    () => tx.tables.owners.get(stream),
    (row) => row.epoch === epoch,
  );
}

export function* countCrash(tx: FakeTransaction, values: readonly any[]): Running {
  const [crashesMax, , lastsMs, growth, , , inARowMs, crashesCounted, stream, epoch] = values;
  const row = yield* ownedUnder(tx, { stream, epoch });
  if (row === null) return [];
  const nowMs = tx.nowMs();
  const isInARow = row.crashes >= crashesMax || (row.crashedAtMs !== null && row.crashedAtMs > nowMs - inARowMs);
  const crashes = isInARow ? Math.min(row.crashes + 1, crashesCounted) : 1;
  const isTooMany = crashes >= crashesMax;
  const untilMs = isTooMany ? nowMs + lastsMs * growth ** (crashes - crashesMax) : null;
  const owner = isTooMany ? null : row.owner;
  tx.atCommit(() =>
    tx.tables.setOwner(stream, {
      ...{ ...row, owner, crashes, crashedAtMs: nowMs },
      ...{ loadingSinceMs: null, quarantinedUntilMs: untilMs },
    }),
  );
  return [{ crashes, until: untilMs === null ? null : new Date(untilMs).toISOString() }];
}

/** What a statement of whoever owns it writes into its row. */
export function underClaim(change: (nowMs: number) => Partial<OwnerRow>): Statement {
  return function* (tx, [stream, epoch]) {
    const row = yield* ownedUnder(tx, { stream, epoch });
    if (row === null) return [];
    tx.atCommit(() => tx.tables.setOwner(stream, { ...row, ...change(tx.nowMs()) }));
    return [{}];
  };
}

/** The mutant that takes its epoch from elsewhere. */
export function* claimUnderGivenEpoch(tx: FakeTransaction, values: readonly any[]): Running {
  const [self, numbers, stream] = values;
  const epoch = values.at(-1);
  const { tables } = tx;
  const row = yield* lockFitting({ key: ownerKey(stream) }, () => tables.owners.get(stream), claimable(tx, self));
  if (row === null) return [];
  tx.atCommit(() => tables.setOwner(stream, { ...row, epoch, owner: self, numbersNext: row.numbersNext + numbers }));
  return [{ stream, epoch, numbersFrom: row.numbersNext, crashes: 0 }];
}

export function lookAtOwner({ believesExpired }: { believesExpired: boolean }): Statement {
  return (tx, [graceMs, self, stream]) => {
    const { owners, leases } = tx.tables;
    const row = owners.get(stream);
    if (row === undefined) return [];
    const lease = row.owner === null ? undefined : leases.get(row.owner);
    const isExpired = believesExpired || (lease !== undefined && lease.untilMs < tx.nowMs() - graceMs);
    const { owner } = row;
    return [
      {
        owner,
        address: lease?.address ?? null,
        isFenced: isFenced(lease),
        isExpired,
        holdsLease: holdsLease(leases.get(self), tx.nowMs()),
        until: isQuarantined(row, tx.nowMs()) ? new Date(row.quarantinedUntilMs!).toISOString() : null,
      },
    ];
  };
}

export function release({ onConflict }: { onConflict: 'wait' | 'skip' }): Statement {
  return function* (tx, [streams, epochs, numbersNext, self]) {
    const { tables } = tx;
    const mine = (streams as number[]).map((stream, at) => ({ stream, epoch: epochs[at], next: numbersNext[at] }));
    const released: object[] = [];
    for (const { stream, epoch, next } of mine.sort((left, right) => left.stream - right.stream)) {
      const isMine = (row: OwnerRow): boolean => row.epoch === epoch && row.owner === self;
      const row = yield* lockFitting({ key: ownerKey(stream), onConflict }, () => tables.owners.get(stream), isMine);
      if (row === null) continue;
      const numbers = Math.max(next, row.numbersNext - NUMBERS_PER_CLAIM);
      tx.atCommit(() => tables.setOwner(stream, { ...row, owner: null, numbersNext: numbers }));
      released.push({ stream });
    }
    return released;
  };
}

export function fence({ needsExpiry }: { needsExpiry: boolean }): Statement {
  return function* (tx, [incarnation, graceMs]) {
    const { leases } = tx.tables;
    const isOver = ({ fencedAtMs, untilMs }: LeaseRow): boolean =>
      fencedAtMs !== null || !needsExpiry || untilMs < tx.nowMs() - graceMs;
    const row = yield* lockFitting({ key: leaseKey(incarnation) }, () => leases.get(incarnation), isOver);
    if (row === null) return [];
    const fencedAtMs = row.fencedAtMs ?? tx.nowMs();
    tx.atCommit(() => leases.set(incarnation, { ...row, fencedAtMs }));
    return [{}];
  };
}

export function* drain(tx: FakeTransaction, [incarnation]: readonly any[]): Running {
  const { leases } = tx.tables;
  yield* lock(leaseKey(incarnation), 'noKeyUpdate');
  const row = leases.get(incarnation);
  if (row === undefined) return [];
  tx.atCommit(() => leases.set(incarnation, { ...row, draining: true }));
  return [{}];
}

/** A fence of a worker that its rooms have not ended. */
export function* endInOrder(tx: FakeTransaction, [incarnation]: readonly any[]): Running {
  const { leases } = tx.tables;
  yield* lock(leaseKey(incarnation), 'noKeyUpdate');
  const row = leases.get(incarnation);
  if (row === undefined) return [];
  tx.atCommit(() => leases.set(incarnation, { ...row, fencedAtMs: row.fencedAtMs ?? tx.nowMs(), livedOn: true }));
  return [{}];
}

export function findLeased(tx: FakeTransaction): Rows {
  return [...tx.tables.leases]
    .filter(([, lease]) => holdsLease(lease, tx.nowMs()))
    .map(([incarnation, { address, draining }]) => ({ incarnation, address, draining, load: 0 }));
}

export function* fenceAllOthers(tx: FakeTransaction, [self]: readonly any[]): Running {
  const { leases } = tx.tables;
  for (const [incarnation, seen] of [...leases]) {
    if (incarnation === self || seen.fencedAtMs !== null) continue;
    yield* lock(leaseKey(incarnation), 'noKeyUpdate');
    const row = leases.get(incarnation);
    if (row === undefined || row.fencedAtMs !== null) continue;
    tx.atCommit(() => leases.set(incarnation, { ...row, fencedAtMs: tx.nowMs() }));
  }
  return [];
}

export function findOwner(tx: FakeTransaction, [id]: readonly any[]): Rows {
  const { rooms, owners, leases } = tx.tables;
  const owner = owners.get(rooms.get(id) ?? 0)?.owner;
  const lease = owner === undefined || owner === null ? undefined : leases.get(owner);
  return lease !== undefined && holdsLease(lease, tx.nowMs()) ? [{ address: lease.address }] : [];
}

export function forgetRecalls(tx: FakeTransaction, [streams, epochs, self]: readonly any[]): Rows {
  const { tables } = tx;
  const isDone = (stream: number, epoch: number): boolean =>
    (streams as number[]).some((one, at) => one === stream && epochs[at] === epoch);
  tx.atCommit(() => {
    tables.recalls = tables.recalls.filter(({ incarnation, stream, epoch }) => incarnation !== self || !isDone(stream, epoch));
  });
  return [];
}
