/**
 * What stands between the editor and other programs in the room: it throws on what no editor writes, and then nobody could open the text again.
 */
import type { getYjsProviderForRoom } from '@liveblocks/yjs';
import * as Y from 'yjs';
import { seen } from './others.ts';

type Awareness = ReturnType<typeof getYjsProviderForRoom>['awareness'];

/** The same, but whoever shows something else than a place in `doc` has no caret. */
export function safeAwareness(awareness: Awareness, doc: Y.Doc): Awareness {
  const getStates: Awareness['getStates'] = () =>
    new Map([...awareness.getStates()].map(([clientId, state]) => [clientId, safeState(state, doc)]));
  return Object.assign(Object.create(awareness) as Awareness, { getStates });
}

function safeState(state: unknown, doc: Y.Doc) {
  const { user, cursor } = (state ?? {}) as { user?: unknown; cursor?: { anchor: unknown; head: unknown } | null };
  return { user: { ...seen(user) }, cursor: isPlace(cursor?.anchor, doc) && isPlace(cursor?.head, doc) ? cursor : null };
}

function isPlace(json: unknown, doc: Y.Doc): boolean {
  if (typeof json !== 'object' || json === null) return false;
  try {
    return Y.createAbsolutePositionFromRelativePosition(Y.createRelativePositionFromJSON(json), doc) !== null;
  } catch {
    return false; // Yjs looks for whatever it says
  }
}

/** Takes out of the text what is neither an element nor text, as `getText` of the same name leaves it there: now, and when it comes. */
export function keepText(fragment: Y.XmlFragment): void {
  if (kept.has(fragment)) return;
  kept.add(fragment);
  removeOthers(fragment);
  fragment.observeDeep((events) => {
    for (const { target } of events) if (target instanceof Y.XmlFragment) removeOthers(target);
  });
}

const kept = new WeakSet<Y.XmlFragment>();

function removeOthers(parent: Y.XmlFragment): void {
  const children: unknown[] = parent.toArray();
  for (let index = children.length - 1; index >= 0; index -= 1) {
    const child = children[index];
    if (child instanceof Y.XmlElement) removeOthers(child);
    else if (!(child instanceof Y.XmlText)) parent.delete(index);
  }
}
