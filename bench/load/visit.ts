/** One client at a time who brings a document to a room, or opens it and leaves. */
import { createHash } from 'node:crypto';
import { setTimeout as sleep } from 'node:timers/promises';
import * as Y from 'yjs';
import { ENTER_MS_MAX } from '../config.ts';
import { Line, type Place, wayInto } from './line.ts';
import { ASK_FOR_ALL, isStep, STEP_1, STEP_2, syncFrame, UPDATE, updateIn } from './sync-frames.ts';
import type { TypedDocument } from './typed-document.ts';

/** Sent without a pause; then the server is left to read it, and to write it down: less than 5 MB/s. */
const BYTES_AT_ONCE = 512 * 1024;
const PAUSE_MS = 100;
const ATTEMPTS_MAX = 10;
/** An update without structs and without deletions. */
const NOTHING = Uint8Array.of(0, 0);

/** Whoever typed the document, and is still there. */
export interface Author {
  leave(): void;
}

interface Work {
  readonly roomId: string;
  readonly typed: TypedDocument;
}

/**
 * Types the document into the room, and resolves when a newcomer gets all of it. A server that refuses for a while (its database is behind) is
 * brought all of it again, as a client would that comes back. @throws an Error when it never has it.
 */
export async function bringDocument(place: Place, work: Work): Promise<Author> {
  await place.server.openRoom(place.address, work.roomId);
  let refusal: unknown = null;
  for (let attempt = 0; attempt < ATTEMPTS_MAX; attempt += 1) {
    try {
      return await typeAll(place, work);
    } catch (error) {
      refusal = error;
    }
    await sleep(PAUSE_MS * 5);
  }
  throw new Error(`${place.server.name} did not keep all of the document: ${String(refusal)}`);
}

async function typeAll(place: Place, { roomId, typed }: Work): Promise<Author> {
  const hear = (frame: Buffer): void => {
    if (isStep(STEP_1, frame)) author.say(syncFrame(STEP_2, NOTHING)); // what it lacks is typed below
  };
  const author = new Line(wayInto(place, 'yjs', roomId), { hear });
  const { socket } = author;
  try {
    await within('the room to open', new Promise<void>((resolve, reject) => socket.once('open', resolve).once('error', reject)));
    let unpaused = 0;
    for (const update of typed.updates) {
      author.say(syncFrame(UPDATE, update));
      unpaused += update.length;
      if (unpaused < BYTES_AT_ONCE) continue;
      unpaused = 0;
      await hasRead(socket);
      await sleep(PAUSE_MS);
    }
    if (!isSame((await join(place, roomId)).update, typed)) throw new Error('a newcomer got less');
    return { leave: () => socket.terminate() };
  } catch (error) {
    socket.terminate();
    throw error;
  }
}

/** A pong is sent in its turn: it tells that all before the ping was looked at. */
function hasRead(socket: Line['socket']): Promise<unknown> {
  const answered = new Promise<void>((resolve, reject) => {
    const closed = (code: number): void => reject(new Error(`closed with ${code} while the document was typed`));
    socket.once('close', closed);
    socket.once('pong', () => {
      socket.off('close', closed);
      resolve();
    });
  });
  socket.ping();
  return within('a pong', answered);
}

export interface Joined {
  readonly update: Uint8Array;
  /** From dialling to the last byte of the document. */
  readonly ms: number;
}

/** Dials, asks for everything, and leaves with it. */
export async function join(place: Place, roomId: string): Promise<Joined> {
  const way = wayInto(place, 'yjs', roomId);
  const startedAtMs = performance.now();
  let came: (joined: Joined) => void;
  const hear = (frame: Buffer): void => {
    if (!isStep(STEP_2, frame)) return;
    const ms = performance.now() - startedAtMs;
    came({ update: updateIn(Buffer.from(frame)), ms });
  };
  const { socket } = new Line(way, { hello: ASK_FOR_ALL, hear });
  const whole = new Promise<Joined>((resolve, reject) => {
    came = resolve;
    socket.once('error', reject);
    socket.once('close', (code, reason) => reject(new Error(`closed with ${code} ${reason} before the document came`)));
  });
  try {
    return await within('the document', whole);
  } finally {
    socket.terminate();
  }
}

/** Tells whether an update is the whole document; decodes only bytes that it has not seen. */
export function wholenessOf(typed: TypedDocument): (update: Uint8Array) => boolean {
  const known = new Map<string, boolean>();
  return (update) => {
    const digest = createHash('sha1').update(update).digest('hex');
    const isWhole = known.get(digest) ?? isSame(update, typed);
    known.set(digest, isWhole);
    return isWhole;
  };
}

function isSame(update: Uint8Array, { doc }: TypedDocument): boolean {
  const received = new Y.Doc();
  Y.applyUpdate(received, update);
  return Y.equalSnapshots(Y.snapshot(received), Y.snapshot(doc));
}

async function within<Value>(what: string, wanted: Promise<Value>): Promise<Value> {
  const stopWaiting = new AbortController();
  const late = sleep(ENTER_MS_MAX, null, { signal: stopWaiting.signal }).then(() => {
    throw new Error(`waited ${ENTER_MS_MAX} ms in vain for ${what}`);
  });
  try {
    return await Promise.race([wanted, late]);
  } finally {
    stopWaiting.abort();
    late.catch(() => undefined); // the abort
  }
}
