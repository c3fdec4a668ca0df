/** What the Yjs tests are made of: hand-written V1 bytes, seeded chance, and clients that edit everything Yjs can hold. */
import * as encoding from 'lib0/encoding';
import { expect } from 'vitest';
import * as Y from 'yjs';
import { asSessionId } from '../../../src/base/ids.ts';
import { sha256Base64 } from '../../../src/base/sha256.ts';
import { acceptUpdate, encodeYdoc, type Sender, stateVector, type Ydoc, ydocBytes } from '../../../src/room/ydoc/ydoc.ts';

/** Everybody is live; nobody is anybody else. */
export function from(session: string | null, live: (session: string) => boolean = () => true): Sender {
  return { session: session === null ? null : asSessionId(session), live: { has: live } };
}

/** Bytes from numbers (as varints), texts (length-prefixed) and raw pieces. */
export function bytes(...parts: (number | string | Uint8Array | { byte: number })[]): Uint8Array {
  const encoder = encoding.createEncoder();
  for (const part of parts) {
    if (typeof part === 'number') encoding.writeVarUint(encoder, part);
    else if (typeof part === 'string') encoding.writeVarString(encoder, part);
    else if (part instanceof Uint8Array) encoding.writeUint8Array(encoder, part);
    else encoding.writeUint8(encoder, part.byte);
  }
  return encoding.toUint8Array(encoder);
}

/** A V1 update with one block of structs and no deletions. */
export function block(client: number, clock: number, ...structs: Uint8Array[]): Uint8Array {
  return bytes(1, structs.length, client, clock, ...structs, 0);
}

export const collected = (length: number): Uint8Array => bytes(0, length);
export const gap = (length: number): Uint8Array => bytes(10, length);
/** A text at the start of the root `text`. */
export const string = (text: string): Uint8Array => bytes(4, 1, 'text', text);
/** A value of the root map `map`, in lib0's encoding for JSON-like values. */
export const entry = (key: string, any: Uint8Array): Uint8Array => bytes(8 | 0x20, 1, 'map', key, 1, any);
/** A text after the character `clock` of `client`. */
export const stringAfter = (client: number, clock: number, text: string): Uint8Array =>
  bytes({ byte: 4 | 0x80 }, client, clock, text);

/** A client that starts to edit, and what it sends. */
export function aClient(clientID: number): { ydoc: Y.Doc; sent: Uint8Array[] } {
  const ydoc = new Y.Doc();
  ydoc.clientID = clientID;
  const sent: Uint8Array[] = [];
  ydoc.on('update', (update: Uint8Array, origin: unknown) => {
    if (origin !== 'remote') sent.push(update);
  });
  return { ydoc, sent };
}

/** The updates that typing `text` at the end of the root `text` sends, one character each. */
export function typing(clientID: number, text: string): Uint8Array[] {
  const { ydoc, sent } = aClient(clientID);
  for (const character of text) ydoc.getText('text').insert(ydoc.getText('text').length, character);
  return sent;
}

export function acceptAll(doc: Ydoc, updates: readonly Uint8Array[], session: string | null = 'session'): void {
  for (const update of updates) acceptUpdate(doc, update, from(session));
}

/** The document refuses the update for that reason, and is what it was. */
export function expectRefused(doc: Ydoc, update: Uint8Array, reason: RegExp, session: string | null = 'attacker'): void {
  expectError(doc, update, session, { code: 'YJS_UPDATE_INVALID', facts: { reason: expect.stringMatching(reason) } });
}

/** The document refuses the update as long as another session writes as that client, and is what it was. */
export function expectHeld(doc: Ydoc, update: Uint8Array, { clientId, session }: { clientId: number; session: string }): void {
  expectError(doc, update, session, { code: 'YJS_CLIENT_ID_HELD', facts: { clientId } });
}

function expectError(doc: Ydoc, update: Uint8Array, session: string | null, error: object): void {
  const state = (): unknown => [hashOf(docOf(encodeYdoc(doc))), stateVector(doc), ydocBytes(doc)];
  const before = state();
  expect(() => acceptUpdate(doc, update, from(session))).toThrow(expect.objectContaining(error));
  expect(state()).toEqual(before);
}

export function hashOf(ydoc: Y.Doc): string {
  return sha256Base64(Y.encodeSnapshot(Y.snapshot(ydoc)));
}

export function docOf(update: Uint8Array): Y.Doc {
  const ydoc = new Y.Doc();
  Y.applyUpdate(ydoc, update);
  return ydoc;
}

/** Numbers below `bound`, the same for the same seed. */
export type Chance = (bound: number) => number;

export function chanceOf(seed: number): Chance {
  let state = seed >>> 0;
  return (bound) => {
    state = (state + 0x6d2b79f5) >>> 0;
    let mixed = Math.imul(state ^ (state >>> 15), state | 1);
    mixed ^= mixed + Math.imul(mixed ^ (mixed >>> 7), mixed | 61);
    return Math.floor((((mixed ^ (mixed >>> 14)) >>> 0) / 2 ** 32) * bound);
  };
}

const WORDS = ['a', 'word', 'ünïcode', '😀 smile', 'x'.repeat(40), '<b>', ''];

/** One random edit of any kind that Yjs offers. */
export function edit(ydoc: Y.Doc, chance: Chance): void {
  const word = WORDS[chance(WORDS.length)]!;
  const text = ydoc.getText('text');
  const list = ydoc.getArray<unknown>('list');
  const map = ydoc.getMap<unknown>('map');
  const xml = ydoc.getXmlFragment('xml');
  const at = (length: number): number => chance(length + 1);
  const edits: (() => void)[] = [
    () => text.insert(at(text.length), word),
    () => text.insert(at(text.length), word || 'z', { bold: chance(2) === 0 || null }),
    () => text.delete(0, Math.min(text.length, chance(4))),
    () => text.length > 3 && text.format(chance(text.length - 2), 2, { italic: { size: chance(9) } }),
    () => text.insertEmbed(at(text.length), { image: word }),
    () => list.insert(at(list.length), [chance(100), word, null, true, { nested: [1.5, word] }, 2 ** 40 + chance(9)]),
    () => list.insert(at(list.length), [new Uint8Array([1, 2, chance(256)])]),
    () => list.length > 0 && list.delete(chance(list.length), 1),
    () => list.insert(0, [new Y.Map([['deep', new Y.Array()]])]),
    () => map.set(`key${chance(4)}`, chance(2) === 0 ? word : new Y.Text(word)),
    () => map.set(`key${chance(4)}`, new Y.Doc({ guid: `guid${chance(1000)}`, meta: { word } })),
    () => map.delete(`key${chance(4)}`),
    () => editXml(xml, word, chance),
    () => xml.length > 0 && xml.delete(chance(xml.length), 1),
  ];
  edits[chance(edits.length)]!();
}

function editXml(xml: Y.XmlFragment, word: string, chance: Chance): void {
  const last = xml.length > 0 ? xml.get(xml.length - 1) : null;
  if (last instanceof Y.XmlElement && chance(2) === 0) {
    last.setAttribute('level', String(chance(6)));
    last.insert(0, [new Y.XmlText(word)]);
    const [first] = last.toArray();
    if (first instanceof Y.XmlText && word !== '') first.format(0, 1, { strong: {} });
  } else {
    xml.insert(xml.length, [new Y.XmlElement(`p${chance(3)}`)]);
  }
}
