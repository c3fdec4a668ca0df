/** Random edits of a Yjs document: text with formatting, a map, a list, XML, and an undo manager over most of them. */
import * as Y from 'yjs';
import type { Dice } from './dice.ts';

const MAP_KEYS = ['a', 'b', 'c'] as const;
const PARAGRAPHS_SOFT_MAX = 4;

/** Makes one edit. */
export function edit(doc: Y.Doc, undo: Y.UndoManager, dice: Dice): void {
  const text = doc.getText('text');
  const map = doc.getMap('map');
  const array = doc.getArray<unknown>('array');
  const [from, to] = [anIndex(text, dice), anIndex(text, dice)].sort((one, other) => one - other) as [number, number];
  const edits = {
    type: () => text.insert(from, dice.pick(['x', 'hello ', '😀', 'é—'])),
    erase: () => text.delete(from, to - from),
    format: () => text.format(from, to - from, { bold: dice.pick([true, null]) }),
    set: () => map.set(dice.pick(MAP_KEYS), value(dice)),
    unset: () => map.delete(dice.pick(MAP_KEYS)),
    insert: () => array.insert(dice.below(array.length + 1), [value(dice), dice.below(9)]),
    remove: () => array.length > 0 && array.delete(dice.below(array.length), 1),
    xml: () => editXml(doc.getXmlFragment('xml'), dice),
    undo: () => undo.undo(),
    redo: () => undo.redo(),
    many: () => doc.transact(() => ['m', 'm', 'm'].map((letter) => text.insert(0, letter))),
  };
  edits[
    dice.weighted({ type: 6, erase: 3, format: 2, set: 3, unset: 1, insert: 3, remove: 2, xml: 2, undo: 1, redo: 0.5, many: 1 })
  ]();
}

/** A place in a text, but not within a surrogate pair: there Yjs itself diverges, and no editor goes there. */
export function anIndex(text: Y.Text, dice: Dice): number {
  const plain = text.toString();
  const index = dice.below(plain.length + 1);
  return /^[\uDC00-\uDFFF]/.test(plain.slice(index)) ? index - 1 : index;
}

function editXml(fragment: Y.XmlFragment, dice: Dice): void {
  const { length } = fragment;
  if (length > PARAGRAPHS_SOFT_MAX && dice.chance(0.5)) fragment.delete(dice.below(length), 1);
  else if (length > 0 && dice.chance(0.5)) {
    (fragment.get(dice.below(length)) as Y.XmlElement).setAttribute('level', String(dice.below(4)));
  } else {
    const paragraph = new Y.XmlElement('p');
    paragraph.insert(0, [new Y.XmlText('words')]);
    fragment.insert(dice.below(length + 1), [paragraph]);
  }
}

function value(dice: Dice): unknown {
  const kinds = {
    number: () => dice.below(1_000),
    json: () => ({ plain: [dice.below(9), null] }),
    map: () => new Y.Map([['n', dice.below(9)]]),
    array: () => Y.Array.from([dice.below(9)]),
    text: () => new Y.Text('inner'),
  };
  return kinds[dice.weighted({ number: 3, json: 1, map: 1, array: 1, text: 1 })]();
}
