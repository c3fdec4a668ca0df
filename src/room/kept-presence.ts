/**
 * The presence that a room keeps of a session, patched at the cost of the patch: it may have thousands of keys, and patches come hundreds a second.
 *
 * So it is changed in place while nobody else holds it, and its size is counted along. Whoever hands the object out says so (`handOut`), and the next
 * patch begins with a copy.
 */
import { AppError } from '../base/errors.ts';
import type { Json, JsonObject } from '../base/json.ts';
import { ALL_OTHERS, presenceText } from '../protocol/server-messages.ts';
import type { DecideContext, Session } from './shapes.ts';

type Limited = Pick<DecideContext, 'limits'>;

/** A presence that only its session holds. */
interface Own {
  readonly presence: { [key: string]: Json };
  /** Of its entries as JSON, each with the comma behind it. */
  entryBytes: number;
}

/** True of a session only as long as that is still its presence. */
const owns = new WeakMap<Session, Own>();

/** As of which presence, and what says it: who asks hardly asks alone, as what made one reader slow does so to many. */
const texts = new WeakMap<Session, { readonly presence: JsonObject; readonly text: string }>();

/** Merges the patch, key by key. @throws AppError PAYLOAD_TOO_LARGE, and then nothing is changed. */
export function patchPresence(session: Session, patch: JsonObject, ctx: Limited): void {
  const own = ownOf(session);
  const { presence } = own;
  let { entryBytes } = own;
  const entries = Object.entries(patch);
  for (const [key, value] of entries) {
    if (Object.hasOwn(presence, key)) entryBytes -= bytesOfEntry(key, presence[key]!);
    entryBytes += bytesOfEntry(key, value);
  }
  checkBytes(bytesOf(entryBytes), ctx);
  for (const [key, value] of entries) presence[key] = value;
  own.entryBytes = entryBytes;
  if (session.presence !== presence) owns.set(session, own);
  session.presence = presence;
  texts.delete(session);
}

/** Adds what the presence does not have. @throws AppError PAYLOAD_TOO_LARGE, and then nothing is changed. */
export function completePresence(session: Session, data: JsonObject, ctx: Limited): void {
  const { presence } = session;
  const missing = presence === null ? data : lackedBy(presence, data);
  if (presence === null || Object.keys(missing).length > 0) patchPresence(session, missing, ctx);
}

/** What of `data` is under keys that `presence` does not have. */
export function lackedBy(presence: JsonObject, data: JsonObject): JsonObject {
  return Object.fromEntries(Object.entries(data).filter(([key]) => !Object.hasOwn(presence, key)));
}

/** The presence for somebody who may look at it later: it will not change any more. */
export function handOut(session: Session): JsonObject | null {
  owns.delete(session);
  return session.presence;
}

/** How many bytes it takes as JSON. */
export function presenceBytes(session: Session): number {
  const known = owns.get(session);
  return known !== undefined && known.presence === session.presence ? bytesOf(known.entryBytes) : jsonBytes(session.presence);
}

/** The presence as SDK clients read it, the same for all who ask; null when there is none. */
export function fullPresenceText(session: Session): string | null {
  const { actor, presence } = session;
  if (presence === null) return null;
  const known = texts.get(session);
  if (known?.presence === presence) return known.text;
  const text = presenceText({ actor, data: presence, targetActor: ALL_OTHERS });
  texts.set(session, { presence, text });
  return text;
}

/** @throws AppError PAYLOAD_TOO_LARGE: everybody in the room holds the presence of everybody. */
export function checkPresenceSize(data: JsonObject, ctx: Limited): void {
  checkBytes(jsonBytes(data), ctx);
}

function checkBytes(bytes: number, { limits }: Limited): void {
  if (bytes > limits.presenceBytesMax)
    throw new AppError('PAYLOAD_TOO_LARGE', { what: 'The presence', bytesMax: limits.presenceBytesMax });
}

function ownOf(session: Session): Own {
  const known = owns.get(session);
  if (known !== undefined && known.presence === session.presence) return known;
  const presence = { ...session.presence };
  const bytes = jsonBytes(presence);
  return { presence, entryBytes: bytes === EMPTY_BYTES ? 0 : bytes - 1 };
}

/** `{}` */
const EMPTY_BYTES = 2;

/** Two brackets, and no comma behind the last entry. */
function bytesOf(entryBytes: number): number {
  return entryBytes === 0 ? EMPTY_BYTES : entryBytes + 1;
}

/** With colon and comma. */
function bytesOfEntry(key: string, value: Json): number {
  return jsonBytes(key) + jsonBytes(value) + 2;
}

function jsonBytes(value: Json): number {
  return Buffer.byteLength(JSON.stringify(value));
}
