/** Whether the text of the server is here: what is typed before is merged, but looks lost for a moment. */
import type { getYjsProviderForRoom } from '@liveblocks/yjs';
import { useSyncExternalStore } from 'react';

type Provider = ReturnType<typeof getYjsProviderForRoom>;

export function useIsEditorReady(provider: Provider): boolean {
  return useSyncExternalStore(
    (changed) => {
      provider.on('sync', changed);
      return () => provider.off('sync', changed);
    },
    () => provider.synced,
  );
}
