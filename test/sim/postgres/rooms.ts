/** Rooms in the fake Postgres: what `features/rooms/queries.ts` says where it touches owners and journals. */
import { holdsLease } from './ownership.ts';
import { type FakeTransaction, lock, lockFitting, ownerKey, type Rows, type Running, roomKey } from './statement.ts';

export function findRoom(tx: FakeTransaction, [id]: readonly any[]): Rows {
  const pk = tx.tables.rooms.get(id);
  if (pk === undefined) return [];
  return [{ pk, id, organizationId: 'default', defaultAccesses: ['*:write'], usersAccesses: {}, groupsAccesses: {} }];
}

/** One room, for here nobody makes more at once. Two that make the same at once: the second waits, and finds it. */
export function* makeRoom(tx: FakeTransaction, [rooms]: readonly any[]): Running {
  const { tables } = tx;
  const [{ id }] = JSON.parse(rooms);
  yield* lock(`room id ${id}`, 'update');
  const known = tables.rooms.get(id);
  if (known !== undefined) {
    yield* lock(roomKey(known), 'noKeyUpdate');
    if (tables.rooms.get(id) === known) return [{ ...findRoom(tx, [id])[0], isNew: false }];
  }
  const pk = tables.nextPk();
  tx.atCommit(() => tables.addRoom(id, pk));
  return [{ pk, id, organizationId: 'default', defaultAccesses: [], usersAccesses: {}, groupsAccesses: {}, isNew: true }];
}

export function* fenceRoom(tx: FakeTransaction, [id]: readonly any[]): Running {
  const { tables } = tx;
  const leases = new Map(tables.leases);
  const stream = tables.rooms.get(id);
  if (stream === undefined) return [];
  const row = yield* lockFitting(
    { key: ownerKey(stream) },
    () => tables.owners.get(stream),
    () => true,
  );
  if (row === null) return [];
  const { owner } = row;
  const epoch = row.epoch + 1;
  tx.atCommit(() => {
    tables.setOwner(stream, { ...row, epoch });
    const hasEnded = owner !== null && (leases.get(owner)?.fencedAtMs ?? null) !== null; // it reads none
    if (owner !== null && !hasEnded) tables.recalls = [...tables.recalls, { incarnation: owner, stream, epoch }];
  });
  const lease = owner === null ? undefined : leases.get(owner);
  return [{ stream, ownerAt: holdsLease(lease, tx.nowMs()) ? lease!.address : null }];
}

export function* removeRoom(tx: FakeTransaction, [pk, id]: readonly any[]): Running {
  const { tables } = tx;
  if (tables.rooms.get(id) !== pk) return [];
  yield* lock(roomKey(pk), 'update');
  if (tables.rooms.get(id) !== pk) return [];
  yield* lock(ownerKey(pk), 'update'); // the cascade
  tx.atCommit(() => tables.removeRoom(id, pk));
  return [{ pk }];
}

/** Neither organisation nor anything else of the row is kept here. */
export function* lockRoom(tx: FakeTransaction, [pk, id]: readonly any[]): Running {
  const { tables } = tx;
  if (tables.rooms.get(id) !== pk) return [];
  yield* lock(roomKey(pk), 'noKeyUpdate');
  return tables.rooms.get(id) === pk ? [{ organizationId: 'default' }] : [];
}

/** What it tells the outbox, nobody reads here. */
export function* moveRoom(tx: FakeTransaction, [, , pk]: readonly any[]): Running {
  yield* lock(roomKey(pk), 'noKeyUpdate');
  tx.atCommit(() => undefined);
  return [{ pk }];
}
