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
  /** In alphabetical order. `onRefused` hears of each file that stands for no room of its own, with why. */
  ids(onRefused: (fileName: string, why: string) => void): Promise<string[]>;
  /** Of an id that was listed. */
  read(id: string): Promise<Uint8Array>;
}

/** One file per document, named by its id, URL-encoded; what need not be told apart, such as a space, may stand for itself. */
export function documentsIn(folder: string): FolderOfDocuments {
  const files = new Map<string, string>();
  return {
    async ids(onRefused) {
      files.clear();
      for (const name of (await readdir(folder)).filter((each) => each.endsWith(ENDING)).sort()) {
        const id = decoded(name.slice(0, -ENDING.length));
        const other = id === null ? undefined : files.get(id);
        if (id === null) onRefused(name, 'the name is not URL-encoded; a % that stands for itself is written %25');
        else if (other !== undefined) onRefused(name, `the file ${other} has the same id`);
        else files.set(id, name);
      }
      return [...files.keys()].sort();
    },
    read: async (id) => new Uint8Array(await readFile(join(folder, files.get(id)!))),
  };
}

function decoded(text: string): string | null {
  try {
    return decodeURIComponent(text);
  } catch {
    return null;
  }
}
