/** C7: what goes to the end of a list stands there in an order that time allows: each client's own, and whatever was done before something else began. */
import { KINDS, type Op } from '../history.ts';
import { type Evidence, lastWords, type Violation, violation } from './evidence.ts';

export function checkOrder(evidence: Evidence): Violation[] {
  const ops = new Map(evidence.ops.map((op) => [op.id, op]));
  return [...lastWords(evidence)].flatMap(([room, { storage }]) => {
    const pushed = storage.list.flatMap((id) => {
      const op = ops.get(id);
      return op !== undefined && KINDS[op.kind]?.place === 'end' ? [op] : [];
    });
    return [
      ...violation('C7', 'before what the same client pushed earlier', { room, ids: outOfOwnOrder(pushed) }),
      ...violation('C7', 'acknowledged before others began, and behind them', { room, ids: outOfTime(pushed) }),
    ];
  });
}

/** Of each client and kind, those acknowledged whose number is not above the last. */
function outOfOwnOrder(pushed: readonly Op[]): string[] {
  const last = new Map<string, number>();
  return pushed.flatMap(({ id, kind, client, result }) => {
    if (result !== 'ok') return []; // it may have had its effect at any time
    const name = `${kind}.${client}`;
    const number = Number(id.slice(id.lastIndexOf('.') + 1));
    const isLate = number < (last.get(name) ?? -1);
    last.set(name, Math.max(number, last.get(name) ?? -1));
    return isLate ? [id] : [];
  });
}

/** One that was acknowledged before one in front of it began. */
function outOfTime(pushed: readonly Op[]): string[] {
  const late: string[] = [];
  let newest: Op | null = null;
  for (const op of pushed) {
    if (newest !== null && op.result === 'ok' && op.t1! < newest.t0) late.push(`${op.id} behind ${newest.id}`);
    if (newest === null || op.t0 > newest.t0) newest = op;
  }
  return late;
}
