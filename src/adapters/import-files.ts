/** Files of an import: the notes of what is done, and a folder of Yjs documents. */
import { open, readdir, readFile } from 'node:fs/promises';
import { join } from 'node:path';

interface Note {
  readonly to: string;
  readonly room: string;
}

export interface ImportNotes {
  has(roomId: string): boolean;
  /** Resolves when it is on the disk. */
  add(roomId: string): Promise<void>;
  close(): Promise<void>;
}

/** A line of JSON per room that is done. What was done for another target does not count, and half a line, left by a crash, says nothing. */
export async function openNotes(path: string, { to }: { readonly to: string }): Promise<ImportNotes> {
  const text = await readFile(path, 'utf8').catch((error: NodeJS.ErrnoException) => {
    if (error.code === 'ENOENT') return '';
    throw error;
  });
  const done = new Set<string>();
  for (const line of text.split('\n')) {
    const note = noteIn(line);
    if (note?.to === to) done.add(note.room);
  }
  const file = await open(path, 'a');
  if (text !== '' && !text.endsWith('\n')) await file.write('\n');
  return {
    has: (roomId) => done.has(roomId),
    async add(roomId) {
      await file.write(`${JSON.stringify({ to, room: roomId } satisfies Note)}\n`);
      await file.datasync();
    },
    close: () => file.close(),
  };
}

function noteIn(line: string): Note | null {
  try {
    return JSON.parse(line) as Note;
  } catch {
    return null; // half a line
  }
}

const ENDING = '.yjs';

export interface FolderOfDocuments {
  /** In alphabetical order. */
  ids(): Promise<string[]>;
  read(id: string): Promise<Uint8Array>;
}

/** One file per document, named by its id, URL-encoded. */
export function documentsIn(folder: string): FolderOfDocuments {
  return {
    async ids() {
      const names = (await readdir(folder)).filter((name) => name.endsWith(ENDING));
      return names.map((name) => decodeURIComponent(name.slice(0, -ENDING.length))).sort();
    },
    read: async (id) => new Uint8Array(await readFile(join(folder, `${encodeURIComponent(id)}${ENDING}`))),
  };
}
