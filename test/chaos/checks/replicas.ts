/** C3: all who have a room have the same room, whichever way they read it, also after everything was restarted; and who is in it, all see. */
import { isDeepStrictEqual } from 'node:util';
import type { Content } from '../../support/writing/place.ts';
import { type Evidence, idsByPart, lastWords, type Violation, violation } from './evidence.ts';

export function checkReplicas(evidence: Evidence): Violation[] {
  const last = lastWords(evidence);
  const expected = new Set(evidence.finals.map(({ room }) => room));
  const unread = [...expected].filter((room) => !last.has(room));
  return [
    ...violation('C3', 'rooms not read after the restart', { room: null, ids: unread }),
    ...evidence.finals.flatMap(({ route, phase, room, content }) =>
      compared(`${route}, ${phase}`, room, { content, last: last.get(room) }),
    ),
    ...evidence.replicas.flatMap(({ client, room, storage, ydoc }) => {
      const whole = last.get(room);
      if (whole === undefined) return [];
      return compared(client, room, { content: { storage: storage ?? whole.storage, ydoc: ydoc ?? whole.ydoc }, last: whole });
    }),
    ...evidence.attendance.flatMap(({ observer, room, seen, there }) => {
      const [here, all] = [[...seen].sort(), [...there].sort()];
      const ids = isDeepStrictEqual(here, all) ? [] : [observer];
      return violation('C3', `who looks: it sees ${here.join()}, there are ${all.join()}`, { room, ids });
    }),
  ];
}

function compared(who: string, room: string, { content, last }: { content: Content; last: Content | undefined }): Violation[] {
  if (last === undefined) return [];
  const [here, there] = [idsByPart(content), idsByPart(last)];
  return (['list', 'map', 'text', 'ydoc'] as const).flatMap((part) => {
    const inOrder = part === 'map' ? [[...here.map].sort(), [...there.map].sort()] : [here[part], there[part]];
    if (isDeepStrictEqual(inOrder[0], inOrder[1])) return [];
    return violation('C3', `of the ${part} at ${who} that differ (${difference(here[part], there[part])})`, {
      room,
      ids: differing(here[part], there[part]),
    });
  });
}

function difference(here: readonly string[], there: readonly string[]): string {
  return `${here.length} instead of ${there.length}`;
}

/** Those that only one has; where both have the same, those in other places. */
function differing(here: readonly string[], there: readonly string[]): string[] {
  const [a, b] = [new Set(here), new Set(there)];
  const only = [
    ...here.filter((id) => !b.has(id)).map((id) => `+${id}`),
    ...there.filter((id) => !a.has(id)).map((id) => `-${id}`),
  ];
  return only.length > 0 ? only : here.filter((id, index) => there[index] !== id);
}
