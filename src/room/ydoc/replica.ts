import * as Y from 'yjs';

/**
 * A `Y.Doc` that never edits. Its guid is for documents within documents: unless one is given, Yjs draws 31 random numbers for it: 65 µs, and as many
 * native objects.
 */
export function emptyReplica(options: { readonly gc: boolean }): Y.Doc {
  const ydoc = new Y.Doc({ ...options, guid: '' });
  ydoc.on('afterTransaction', (transaction) => {
    transaction._needFormattingCleanup = false;
    forgetDeleted(ydoc, transaction.subdocsRemoved);
  });
  return ydoc;
}

/**
 * Documents that were deleted within the document. Yjs would destroy each, which opens a transaction for each, which it ends within each other: some
 * thousands overflow the stack, for ever. Nobody has anything open in them here.
 */
function forgetDeleted(ydoc: Y.Doc, removed: Set<Y.Doc>): void {
  for (const one of removed) ydoc.subdocs.delete(one);
  removed.clear();
}
