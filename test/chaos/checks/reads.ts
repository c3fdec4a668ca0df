/** C6: a read that began after something was acknowledged, or after another read had ended that held it, holds it too. */
import { has, listOf } from '../compact-ids.ts';
import { KINDS, type Op, type Read } from '../history.ts';
import { type Evidence, type Violation, violation } from './evidence.ts';

export function checkReads({ ops, reads }: Evidence): Violation[] {
  const known = knownFrom(ops, reads);
  const rooms = new Map<string, Op[]>();
  for (const op of ops) {
    if (!rooms.has(op.room)) rooms.set(op.room, []);
    rooms.get(op.room)!.push(op);
  }
  return reads.flatMap((read) => {
    const missing = (rooms.get(read.room) ?? []).filter(
      ({ id, kind }) => read.parts.includes(KINDS[kind]!.part) && (known.get(id) ?? Infinity) < read.t0 && !has(read.seen, id),
    );
    const what = `known before a read of ${read.client} began at ${Math.round(read.t0)} ms, and not in it`;
    return violation('C6', what, { room: read.room, ids: missing.map(({ id }) => `${id} (${Math.round(known.get(id)!)} ms)`) });
  });
}

/** From when on everybody who asks must be told of it, in ms. */
function knownFrom(ops: readonly Op[], reads: readonly Read[]): Map<string, number> {
  const known = new Map<string, number>();
  for (const { id, result, t1 } of ops) if (result === 'ok') known.set(id, t1!);
  for (const { seen, t1 } of reads) {
    for (const id of listOf(seen)) if (t1 < (known.get(id) ?? Infinity)) known.set(id, t1);
  }
  return known;
}
