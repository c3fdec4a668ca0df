/** All that is checked of a run (reliability 3.2). Pure: evidence in, violations out. */
import { checkEpochs } from './epochs.ts';
import { type Evidence, type Violation, violation } from './evidence.ts';
import { checkOrder } from './order.ts';
import { checkReads } from './reads.ts';
import { checkReplicas } from './replicas.ts';
import { checkWrites } from './writes.ts';

export function check(evidence: Evidence): Violation[] {
  return [
    ...checkWrites(evidence),
    ...checkReplicas(evidence),
    ...checkEpochs(evidence),
    ...checkReads(evidence),
    ...checkOrder(evidence),
    ...checkReplays(evidence),
  ];
}

/** C9: who repeats a request is given its first answer. */
function checkReplays({ replays }: Evidence): Violation[] {
  const others = replays.filter(({ first, again }) => first !== again);
  const ids = others.map(({ id, first, again }) => `${id} (${first.slice(0, 200)}, then ${again.slice(0, 200)})`);
  return violation('C9', 'answered otherwise the second time', { room: null, ids });
}
