import { describe, expect, test } from 'vitest';
import * as Y from 'yjs';
import { type RootKind, readYdocJson, type YdocQuery } from '../../../src/room/ydoc/json.ts';
import { acceptUpdate, emptyYdoc, replayUpdate, snapshotHash, type Ydoc } from '../../../src/room/ydoc/ydoc.ts';
import { block, from, hashOf, stringAfter } from './builders.ts';

function docWith(edit: (ydoc: Y.Doc) => void): Ydoc {
  const ydoc = new Y.Doc();
  ydoc.transact(() => edit(ydoc));
  const doc = emptyYdoc();
  acceptUpdate(doc, Y.encodeStateAsUpdate(ydoc), from(null));
  return doc;
}

const read = (doc: Ydoc, query: Partial<YdocQuery> = {}): unknown => readYdocJson(doc, { formatting: 'plain', ...query });

describe('[YD19] a document as JSON', () => {
  const doc = docWith((ydoc) => {
    ydoc.getText('text').insert(0, 'bold', { bold: true });
    ydoc.getText('text').insert(4, ' and plain', { bold: null });
    ydoc.getText('text').insertEmbed(14, { image: 'url' });
    ydoc.getMap('map').set('number', 1.5);
    ydoc.getMap('map').set('nested', new Y.Map([['list', Y.Array.from([1, 'two', null])]]));
    ydoc.getMap('map').set('text', new Y.Text('inner'));
    ydoc.getArray('array').push([{ a: [true] }, new Y.Array(), new Y.Map([['k', 'v']])]);
    const paragraph = new Y.XmlElement('Paragraph');
    paragraph.setAttribute('level', '2');
    paragraph.insert(0, [new Y.XmlText('words')]);
    ydoc.getXmlFragment('fragment').insert(0, [paragraph, new Y.XmlElement('hr')]);
    const root = ydoc.get('xmltext', Y.XmlText);
    root.setAttribute('dir', 'ltr');
    root.insertEmbed(0, new Y.XmlText('line'));
  });

  test('every root is read as what it holds', () => {
    expect(read(doc)).toEqual({
      text: 'bold and plain',
      map: { number: 1.5, nested: { list: [1, 'two', null] }, text: 'inner' },
      array: [{ a: [true] }, [], { k: 'v' }],
      fragment: '<paragraph level="2">words</paragraph><hr></hr>',
      xmltext: 'line',
    });
  });

  test('with formatting, text is a list of inserts wherever it stands', () => {
    expect(read(doc, { formatting: 'delta' })).toMatchObject({
      text: [{ insert: 'bold', attributes: { bold: true } }, { insert: ' and plain' }, { insert: { image: 'url' } }],
      map: { text: [{ insert: 'inner' }] },
      fragment: '<paragraph level="2">words</paragraph><hr></hr>',
    });
  });

  test('a key gives the value of that root alone, or null when there is none', () => {
    expect(read(doc, { key: 'map' })).toMatchObject({ number: 1.5 });
    expect(read(doc, { key: 'text', formatting: 'delta' })).toHaveLength(3);
    expect(read(doc, { key: 'nowhere' })).toBeNull();
  });

  test.each([
    ['ymap', {}],
    ['yarray', []],
    ['ytext', ''],
    ['yxmltext', ''],
    ['yxmlfragment', ''],
  ] as [RootKind, unknown][])('with type %s a key that is not there is an empty one', (type, empty) => {
    expect(read(doc, { key: 'nowhere', type })).toEqual(empty);
  });

  test('a type overrides what was inferred, one reader after the other, and leaves the document alone', () => {
    expect(read(doc, { key: 'xmltext', type: 'ymap' })).toEqual({ dir: 'ltr' });
    expect(read(doc, { key: 'xmltext', type: 'yxmlfragment' })).toBe('line');
    expect(read(doc, { key: 'text', type: 'yxmltext' })).toMatch(/^<bold>bold<\/bold> and plain/);
    expect(read(doc, { key: 'text', type: 'yarray' })).toEqual([...'bold and plain', { image: 'url' }]);
    expect(read(doc, { key: 'map', type: 'ytext' })).toBe('');
    expect(read(doc, { key: 'text' })).toBe('bold and plain');
    expect(read(doc, { type: 'ymap' })).toMatchObject({ text: 'bold and plain' });
    expect(snapshotHash(doc)).toBe(hashOf(doc.live!.ydoc));
  });

  test('of an empty document is empty, and so are roots that only what waits has named', () => {
    expect(read(emptyYdoc())).toEqual({});
    const waiting = emptyYdoc();
    acceptUpdate(waiting, block(1, 5, stringAfter(1, 4, 'z')), from('one'));
    expect(read(waiting)).toEqual({});
  });

  test('of emptied roots keeps their names', () => {
    const emptied = docWith((ydoc) => {
      ydoc.getText('text').insert(0, 'gone');
      ydoc.getText('text').delete(0, 4);
      ydoc.getMap('map').set('key', 1);
      ydoc.getMap('map').delete('key');
    });
    expect(read(emptied)).toEqual({ text: '', map: {} });
  });

  test('what JSON cannot hold is written in words', () => {
    const odd = docWith((ydoc) => {
      ydoc.getMap('map').set('big', 2n ** 60n);
      ydoc.getMap('map').set('bytes', Uint8Array.of(1, 2, 3));
      ydoc.getMap('map').set('document', new Y.Doc({ guid: 'guid' }));
      ydoc.getMap('map').set('missing', undefined);
      ydoc.getMap('map').set('values', [Number.NaN, Number.POSITIVE_INFINITY, undefined, { gone: undefined }]);
    });
    const value = read(odd);
    expect(value).toEqual({
      map: { big: '1152921504606846976', bytes: 'AQID', document: { guid: 'guid' }, values: [null, null, null, {}] },
    });
    expect(JSON.parse(JSON.stringify(value))).toEqual(value);
  });

  test('no key of a document reaches a prototype, not even one from before such keys were refused', () => {
    const evil = emptyYdoc();
    const ydoc = new Y.Doc();
    ydoc.getMap('map').set('__proto__', { polluted: true });
    replayUpdate(evil, Y.encodeStateAsUpdate(ydoc));
    const map = read(evil, { key: 'map' }) as Record<string, unknown>;
    expect(Object.keys(map)).toEqual(['__proto__']);
    expect(map.polluted).toBeUndefined();
    expect(({} as Record<string, unknown>).polluted).toBeUndefined();
  });

  test('a document nested deeper than is accepted now is refused by name', () => {
    const deep = emptyYdoc();
    const ydoc = new Y.Doc();
    let map = ydoc.getMap<unknown>('map');
    for (let level = 0; level < 65; level += 1) {
      map.set('in', new Y.Map());
      map = map.get('in') as Y.Map<unknown>;
    }
    replayUpdate(deep, Y.encodeStateAsUpdate(ydoc));
    expect(() => read(deep)).toThrow(/nested deeper than 64/);
  });
});

describe('[YD19] what Yjs cannot write as XML', () => {
  const hidden = { toString: 1 } as unknown as object;
  const withText = (edit: (text: Y.XmlText) => void): Ydoc =>
    docWith((ydoc) => {
      const text = new Y.XmlText('x');
      ydoc.getXmlFragment('f').push([text]);
      edit(text);
    });

  test('is read all the same', () => {
    const attribute = docWith((ydoc) => {
      const element = new Y.XmlElement('p');
      ydoc.getXmlFragment('f').push([element]);
      element.setAttribute('k', hidden as never);
      ydoc.getText('t').insert(0, 'other');
    });
    expect(read(attribute)).toEqual({ f: '<p k="[object Object]"></p>', t: 'other' });
    expect(read(withText((text) => text.format(0, 1, { b: { k: hidden } })))).toEqual({ f: '<b k="[object Object]">x</b>' });
    expect(read(withText((text) => text.insertEmbed(1, hidden)))).toEqual({ f: 'x[object Object]' });
    const mixed = docWith((ydoc) => ydoc.getArray('f').push([new Y.XmlElement('p'), null]));
    expect(read(mixed)).toEqual({ f: '<p></p>null' });
  });

  test('a list may be asked for as a fragment, whatever it holds', () => {
    const list = docWith((ydoc) => ydoc.getArray('a').push([null, 1]));
    expect(read(list, { key: 'a', type: 'yxmlfragment' })).toBe('null1');
  });
});
