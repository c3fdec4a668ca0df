/** C1, C2, C8: what is there in the end, against what was acknowledged, submitted, shown and read. */
import { listOf } from '../compact-ids.ts';
import { KINDS, type Op } from '../history.ts';
import { type Evidence, idsByPart, lastWords, type Violation, violation } from './evidence.ts';

export function checkWrites(evidence: Evidence): Violation[] {
  const found = timesFound(evidence);
  const roomOf = new Map(evidence.ops.map(({ id, room }) => [id, room]));
  return [
    ...byRoom(evidence.ops).flatMap(([room, ops]) => judged(room, ops, found)),
    ...foreign(evidence, roomOf),
    ...gone(evidence, { found, roomOf }),
  ];
}

function judged(room: string, ops: readonly Op[], found: ReadonlyMap<string, number>): Violation[] {
  const ids = (fits: (op: Op, times: number) => boolean): string[] =>
    ops.filter((op) => fits(op, found.get(op.id) ?? 0)).map(({ id }) => id);
  return [
    ...violation('C1', 'acknowledged and lost', { room, ids: ids(({ result }, times) => result === 'ok' && times === 0) }),
    ...violation('C1', 'acknowledged and there more than once', {
      ...{ room, ids: ids(({ result }, times) => result === 'ok' && times > 1) },
    }),
    ...violation('C2', 'never answered and there more than once', {
      ...{ room, ids: ids(({ result }, times) => result === 'unknown' && times > 1) },
    }),
    ...violation('C2', 'refused as not done, and there', {
      room,
      ids: ids(({ result }, times) => result === 'fail' && times > 0),
    }),
  ];
}

/** What nobody wrote, or not there. */
function foreign(evidence: Evidence, roomOf: ReadonlyMap<string, string>): Violation[] {
  const isForeign = (id: string, room: string | null, part: string): boolean =>
    (room === null ? !roomOf.has(id) : roomOf.get(id) !== room) || KINDS[id.slice(0, id.indexOf('.'))]?.part !== part;
  const inRooms = [...lastWords(evidence)].flatMap(([room, content]) => {
    const ids = Object.entries(idsByPart(content)).flatMap(([part, all]) => all.filter((id) => isForeign(id, room, part)));
    return violation('C2', 'never submitted, and there', { room, ids });
  });
  const rooms = evidence.rooms.filter((id) => isForeign(id, null, 'rooms'));
  return [...inRooms, ...violation('C2', 'rooms never asked for, and there', { room: null, ids: rooms })];
}

/** What somebody was shown by a route that shows only what stays. */
function gone(
  { shown, reads }: Evidence,
  { found, roomOf }: { found: ReadonlyMap<string, number>; roomOf: ReadonlyMap<string, string> },
): Violation[] {
  const seenBy = new Map<string, string>();
  for (const { seen, client } of reads) for (const id of listOf(seen)) if (!found.has(id)) seenBy.set(id, client);
  const sent = [...shown].filter(([id]) => !found.has(id));
  const name = ([id, client]: [string, string]): string => `${id} (${roomOf.get(id) ?? 'unknown'}, to ${client})`;
  return [
    ...violation('C8', 'broadcast to others, and gone', { room: null, ids: sent.map(name) }),
    ...violation('C8', 'read, and gone', { room: null, ids: [...seenBy].map(name) }),
  ];
}

function timesFound(evidence: Evidence): Map<string, number> {
  const times = new Map<string, number>();
  const count = (id: string): void => void times.set(id, (times.get(id) ?? 0) + 1);
  for (const content of lastWords(evidence).values()) for (const ids of Object.values(idsByPart(content))) ids.forEach(count);
  evidence.rooms.forEach(count);
  return times;
}

function byRoom(ops: readonly Op[]): [string, Op[]][] {
  const rooms = new Map<string, Op[]>();
  for (const op of ops) {
    const known = rooms.get(op.room);
    if (known === undefined) rooms.set(op.room, [op]);
    else known.push(op);
  }
  return [...rooms];
}
