/** Where the console is: kept behind the # of the address, so that every view has one of its own, and the server serves a single page. */
import { useSyncExternalStore } from 'react';

export type Place =
  | { readonly view: 'rooms'; readonly query: string }
  | { readonly view: 'room'; readonly roomId: string; readonly tab: string }
  | { readonly view: 'workers' };

export function usePlace(): Place {
  const hash = useSyncExternalStore(
    (changed) => {
      addEventListener('hashchange', changed);
      return () => removeEventListener('hashchange', changed);
    },
    () => location.hash,
  );
  return placeOf(hash);
}

export function placeOf(hash: string): Place {
  const [path = '', search = ''] = hash.replace(/^#\/?/, '').split('?');
  const [view, roomId, tab] = path.split('/').map(decoded);
  if (view === 'workers') return { view };
  if (view === 'rooms' && roomId !== undefined && roomId !== '') return { view: 'room', roomId, tab: tab ?? 'connections' };
  return { view: 'rooms', query: new URLSearchParams(search).get('query') ?? '' };
}

/** An address that somebody typed may hold a sign of percent that means itself. */
function decoded(part: string): string {
  try {
    return decodeURIComponent(part);
  } catch {
    return part;
  }
}

export function hrefOf(place: Place): string {
  if (place.view === 'workers') return '#/workers';
  if (place.view === 'room') return `#/rooms/${encodeURIComponent(place.roomId)}/${place.tab}`;
  return place.query === '' ? '#/rooms' : `#/rooms?${new URLSearchParams({ query: place.query })}`;
}

export function goTo(place: Place): void {
  location.hash = hrefOf(place);
}
