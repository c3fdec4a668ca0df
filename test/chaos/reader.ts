/** Reads rooms over REST all the time, and remembers what each read held and when it was asked for. */
import { setTimeout as sleep } from 'node:timers/promises';
import * as Y from 'yjs';
import type { Dice } from '../fuzz/dice.ts';
import { ask, roomPath } from '../support/e2e/rest.ts';
import { idsInStorage, marksIn, type StoredDocument, type Target } from '../support/writing/place.ts';
import type { History } from './history.ts';

export interface ReaderDeps {
  readonly server: Target;
  readonly history: History;
  readonly dice: Dice;
  readonly client: string;
  readonly pickRoom: () => string;
}

const PAUSE_MS_MAX = 200;
const PATIENCE_MS = 10_000;

export async function keepReading({ server, history, dice, client, pickRoom }: ReaderDeps, isOver: () => boolean): Promise<void> {
  while (!isOver()) {
    const room = pickRoom();
    const t0 = history.nowMs();
    const isStorage = dice.chance(0.7);
    const read = isStorage ? readStorage(server, room) : readYdoc(server, room);
    const ids = await read.catch(() => null); // nobody answered, or not now
    const parts = isStorage ? (['list', 'map', 'text'] as const) : (['ydoc'] as const);
    if (ids !== null) history.read({ client, room, parts, t0, ids });
    await sleep(dice.fraction() * PAUSE_MS_MAX);
  }
}

/** Null when the answer is not 200. */
async function readStorage(server: Target, room: string): Promise<string[] | null> {
  const signal = AbortSignal.timeout(PATIENCE_MS);
  const answer = await ask(server, roomPath(room, '/storage?format=json'), { signal });
  return answer.status === 200 ? idsInStorage(answer.json as StoredDocument) : null;
}

async function readYdoc(server: Target, room: string): Promise<string[] | null> {
  const response = await fetch(new URL(roomPath(room, '/ydoc-binary'), server.url), {
    headers: { authorization: `Bearer ${server.secretKey}` },
    signal: AbortSignal.timeout(PATIENCE_MS),
  });
  if (response.status !== 200) return null;
  const doc = new Y.Doc();
  Y.applyUpdate(doc, new Uint8Array(await response.arrayBuffer()));
  return marksIn(doc.getText('text').toString());
}
