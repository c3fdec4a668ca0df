import { describe, expect, test } from 'vitest';
import * as Y from 'yjs';
import { ERRORS } from '../../../src/base/error-table.ts';
import { closeCodeFor } from '../../../src/room/socket-target.ts';
import { readYdocJson } from '../../../src/room/ydoc/json.ts';
import { YDOC_LIMITS } from '../../../src/room/ydoc/limits.ts';
import { acceptUpdate, emptyYdoc, stateVector, type Ydoc } from '../../../src/room/ydoc/ydoc.ts';
import { aClient, acceptAll, block, bytes, entry, expectHeld, from, string, stringAfter, typing } from './builders.ts';

const IN_USE = expect.objectContaining({ code: 'YJS_CLIENT_ID_IN_USE', facts: { clientId: 7 } });

function typedByOne(text = 'abc'): Ydoc {
  const doc = emptyYdoc();
  acceptAll(doc, typing(7, text), 'one');
  return doc;
}

describe('[YD18] two live sessions with one client id', () => {
  test('other content at the same clock is refused by name, and nothing is lost without a word', () => {
    const doc = typedByOne();
    expect(() => acceptUpdate(doc, typing(7, 'xyz')[0]!, from('two'))).toThrow(IN_USE);
    expect(readYdocJson(doc, { formatting: 'plain' })).toEqual({ text: 'abc' });
  });

  test('so is a value under another key, another value under the same key, another element, another embed', () => {
    const versions: [Uint8Array, Uint8Array][] = [
      [entry('a', bytes(125, 1)), entry('b', bytes(125, 1))],
      [entry('a', bytes(125, 1)), entry('a', bytes(125, 2))],
      [entry('a', bytes(119, 'one')), entry('a', bytes(119, 'two'))],
      [bytes(7, 1, 'list', 3, 'p'), bytes(7, 1, 'list', 3, 'q')],
      [bytes(3, 1, 'list', 2, 1, 2), bytes(3, 1, 'list', 2, 1, 3)],
      [bytes(6, 1, 'text', 'bold', 'true'), bytes(6, 1, 'text', 'wide', 'true')],
      [string('a'), bytes(4, 1, 'other', 'a')],
      [string('a'), stringAfter(8, 0, 'a')],
    ];
    for (const [first, second] of versions) {
      const doc = emptyYdoc();
      acceptUpdate(doc, block(8, 0, string('x')), from('three'));
      acceptUpdate(doc, block(7, 0, first), from('one'));
      expect(() => acceptUpdate(doc, block(7, 0, second), from('two'))).toThrow(IN_USE);
      expect(acceptUpdate(doc, block(7, 0, first), from('two')).changed).toBe(false);
    }
  });

  test('the same content is a harmless repetition, whoever sends it, merged or not', () => {
    const doc = typedByOne();
    for (const update of typing(7, 'abc')) expect(acceptUpdate(doc, update, from('two')).changed).toBe(false);
    expect(acceptUpdate(doc, block(7, 0, string('abc')), from('two')).changed).toBe(false);
    expect(acceptUpdate(doc, Y.mergeUpdates(typing(7, 'abcd')), from('two')).changed).toBe(true);
    expect(readYdocJson(doc, { formatting: 'plain' })).toEqual({ text: 'abcd' });
  });

  test('numbers and JSON that another port of Yjs writes differently are the same content', () => {
    const double = (value: number): Uint8Array => {
      const buffer = new DataView(new ArrayBuffer(8));
      buffer.setFloat64(0, value);
      return bytes(123, new Uint8Array(buffer.buffer));
    };
    const doc = emptyYdoc();
    acceptUpdate(doc, block(7, 0, entry('a', bytes(125, 5)), bytes(5, 1, 'text', '{"a":1,"b":2}')), from('one'));
    expect(
      acceptUpdate(doc, block(7, 0, entry('a', double(5)), bytes(5, 1, 'text', '{ "b": 2, "a": 1 }')), from('two')).changed,
    ).toBe(false);
    expect(() => acceptUpdate(doc, block(7, 0, entry('a', double(6))), from('two'))).toThrow(IN_USE);
  });

  test('a session that has left holds nothing, and REST neither holds nor is let through', () => {
    const left = from('two', (session) => session !== 'one');
    expect(acceptUpdate(typedByOne(), typing(7, 'xyz')[0]!, left).changed).toBe(false);
    expect(() => acceptUpdate(typedByOne(), typing(7, 'xyz')[0]!, from(null))).toThrow(IN_USE);
    const doc = emptyYdoc();
    acceptAll(doc, typing(7, 'abc'), null);
    expect(acceptUpdate(doc, typing(7, 'xyz')[0]!, from('two')).changed).toBe(false);
  });

  test('a struct that was deleted meanwhile is no contradiction', () => {
    const { ydoc, sent } = aClient(7);
    ydoc.getText('text').insert(0, 'abc');
    const doc = emptyYdoc();
    acceptAll(doc, sent, 'one');
    ydoc.getText('text').delete(0, 3);
    expect(acceptUpdate(doc, Y.encodeStateAsUpdate(ydoc), from('two')).changed).toBe(true);
    expect(acceptUpdate(doc, sent[0]!, from('three')).changed).toBe(false);
  });

  test('the last structs of a client are remembered, and no more', () => {
    const kept = YDOC_LIMITS.writerStructsMax;
    const text = 'x'.repeat(kept + 1);
    const other = typing(7, 'y'.repeat(kept + 1));
    const doc = typedByOne(text);
    expect(() => acceptUpdate(doc, other[1]!, from('two'))).toThrow(IN_USE);
    expect(acceptUpdate(doc, other[0]!, from('two')).changed).toBe(false);
  });

  test('the last writers are remembered, and no more', () => {
    const doc = typedByOne();
    for (let client = 100; client < 100 + YDOC_LIMITS.writersMax - 1; client += 1)
      acceptUpdate(doc, block(client, 0, string('z')), from('many'));
    expect(() => acceptUpdate(doc, typing(7, 'xyz')[0]!, from('two'))).toThrow(IN_USE);
    acceptUpdate(doc, block(99, 0, string('z')), from('many'));
    expect(doc.writers.size).toBe(YDOC_LIMITS.writersMax);
    expect(acceptUpdate(doc, typing(7, 'xyz')[0]!, from('two')).changed).toBe(false);
  });
});

describe('[YD31] a client that is back before its former session has ended', () => {
  test('brings much that it wrote and deleted meanwhile once that has ended', () => {
    const { ydoc, sent } = aClient(7);
    const text = ydoc.getText('text');
    text.insert(0, 'abc');
    const doc = emptyYdoc();
    acceptAll(doc, sent, 'former');
    const pasted = YDOC_LIMITS.strangerAdvanceMax + 1;
    text.insert(3, 'x'.repeat(pasted));
    text.delete(3, pasted);
    text.insert(3, 'def');
    const update = Y.encodeStateAsUpdate(ydoc, stateVector(doc));
    expectHeld(doc, update, { clientId: 7, session: 'present' });
    acceptUpdate(
      doc,
      update,
      from('present', (session) => session !== 'former'),
    );
    expect(readYdocJson(doc, { formatting: 'plain' })).toEqual({ text: 'abcdef' });
  });

  test('is closed in a way after which clients of both kinds come back', () => {
    const { retry, close } = ERRORS.YJS_CLIENT_ID_HELD;
    expect(retry).toBe(true);
    for (const kind of ['sdk', 'yjs'] as const) expect([1012, 1013]).toContain(closeCodeFor(kind, close));
  });
});
