/**
 * C4, C5: by the database's own account, each epoch of a room was given to one worker, every entry was written under the epoch that ruled at that
 * moment, and the versions go on without a gap or a fork, over all owners.
 */
import type { Audit, ClaimRow, EntryRow, Evidence, StreamRow, Violation } from './evidence.ts';
import { violation } from './evidence.ts';

export function checkEpochs({ audit }: Evidence): Violation[] {
  const { claims, entries, streams } = audit;
  const claimsOf = byStream(claims);
  return [
    ...[...claimsOf].flatMap(([stream, rows]) => checkClaims(stream, rows)),
    ...[...byStream(entries)].flatMap(([stream, rows]) => checkEntries(stream, { rows, claims: claimsOf.get(stream) ?? [] })),
    ...streams.flatMap((row) => checkLeft(row, audit)),
  ];
}

function checkClaims(stream: number, rows: readonly ClaimRow[]): Violation[] {
  const jumps = rows.filter(({ epoch }, index) => epoch !== index + 1);
  const owners = new Map<number, Set<string | null>>();
  for (const { epoch, owner } of rows) owners.set(epoch, (owners.get(epoch) ?? new Set()).add(owner));
  const shared = [...owners].filter(([, who]) => who.size > 1);
  const room = `stream ${stream}`;
  return [
    ...violation('C4', 'epochs that do not follow the one before', { room, ids: jumps.map(({ epoch }) => `epoch ${epoch}`) }),
    ...violation('C5', 'epochs of two owners', { room, ids: shared.map(([epoch]) => `epoch ${epoch}`) }),
  ];
}

function checkEntries(stream: number, { rows, claims }: { rows: readonly EntryRow[]; claims: readonly ClaimRow[] }): Violation[] {
  const room = `stream ${stream}`;
  const nameOf = ({ version, count, epoch }: EntryRow): string => `version ${version} (${count} changes, epoch ${epoch})`;
  const outdated = rows.filter(({ epoch, ruling }) => epoch !== ruling);
  const claimedAt = new Map(claims.map(({ epoch, at }) => [epoch, at]));
  const misplaced = rows.filter(
    ({ at, epoch }) => !((claimedAt.get(epoch) ?? Infinity) < at && at < (claimedAt.get(epoch + 1) ?? Infinity)),
  );
  const broken = rows.filter(({ version, count }, index) => version - count !== (rows[index - 1]?.version ?? 0));
  return [
    ...violation('C5', 'entries under an epoch that did not rule', { room, ids: outdated.map(nameOf) }),
    ...violation('C5', 'entries outside the time of their epoch', { room, ids: misplaced.map(nameOf) }),
    ...violation('C4', 'entries that do not follow the one before', { room, ids: broken.map(nameOf) }),
  ];
}

/** What can be read now must lead without a gap from the older of the snapshots to the last entry that was ever written. */
function checkLeft({ stream, epoch, snapshotVersion, snapshots, kept }: StreamRow, { claims, entries }: Audit): Violation[] {
  const room = `stream ${stream}`;
  const lastEntry = entries.filter((entry) => entry.stream === stream).at(-1)?.version ?? 0;
  const start = snapshots.length > 1 ? Math.min(...snapshots) : 0;
  const needed = kept.filter(({ version }) => version > start);
  const gaps = needed.filter(({ version, count }, index) => {
    const from = version - count;
    return index === 0 ? from > start : from !== needed[index - 1]!.version;
  });
  const end = Math.max(start, needed.at(-1)?.version ?? 0, ...snapshots);
  const faults = [
    ...(end === lastEntry ? [] : [`it ends at ${end}, and ${lastEntry} was written`]),
    ...(snapshots.length > 0 && Math.max(...snapshots) !== snapshotVersion ? [`the pointer names ${snapshotVersion}`] : []),
    ...(epoch === (claims.filter((claim) => claim.stream === stream).at(-1)?.epoch ?? 0)
      ? []
      : [`epoch ${epoch} was never claimed`]),
  ];
  return [
    ...violation('C4', 'gaps in the journal that is left', { room, ids: gaps.map(({ version }) => `before ${version}`) }),
    ...violation('C4', 'faults of what is left', { room, ids: faults }),
  ];
}

function byStream<Row extends { readonly stream: number; readonly at: number }>(rows: readonly Row[]): Map<number, Row[]> {
  const streams = new Map<number, Row[]>();
  for (const row of [...rows].sort((a, b) => a.at - b.at)) {
    const known = streams.get(row.stream);
    if (known === undefined) streams.set(row.stream, [row]);
    else known.push(row);
  }
  return streams;
}
