import * as Y from 'yjs';

/**
 * A `Y.Doc` that never edits. Its guid is for documents within documents: unless one is given, Yjs draws 31 random numbers for it: 65 µs, and as many
 * native objects.
 */
export function emptyReplica(options: { readonly gc: boolean }): Y.Doc {
  const ydoc = new Y.Doc({ ...options, guid: '' });
  ydoc.on('afterTransaction', (transaction) => {
    transaction._needFormattingCleanup = false;
  });
  return ydoc;
}
