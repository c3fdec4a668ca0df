/** Yjs updates that harm a server which trusts them (reliability 2.f), as bytes of the V1 encoding. */
import * as encoding from 'lib0/encoding';
import * as Y from 'yjs';

const GC = 0;
const NO_DELETIONS = 0;

/** One update: clients with their structs, then an empty delete set. */
function updateOf(write: (encoder: encoding.Encoder) => void): Uint8Array {
  const encoder = encoding.createEncoder();
  write(encoder);
  return encoding.toUint8Array(encoder);
}

/** One GC struct: it takes up the clocks of a client for content that is gone. */
export function deletedContent({ client, clock, length }: { client: number; clock: number; length: number }): Uint8Array {
  return updateOf((encoder) => {
    for (const number of [1, 1, client, clock]) encoding.writeVarUint(encoder, number);
    encoding.writeUint8(encoder, GC);
    encoding.writeVarUint(encoder, length);
    encoding.writeVarUint(encoder, NO_DELETIONS);
  });
}

function nestedMaps(depth: number): Uint8Array {
  const doc = new Y.Doc();
  doc.transact(() => {
    let map = doc.getMap<any>('deep');
    for (let level = 0; level < depth; level += 1) {
      const inner = new Y.Map<any>();
      map.set('d', inner);
      map = inner;
    }
  });
  return Y.encodeStateAsUpdate(doc);
}

function mapWithKey(key: string): Uint8Array {
  const doc = new Y.Doc();
  doc.getMap('map').set(key, 1);
  return Y.encodeStateAsUpdate(doc);
}

export const YJS_BOMBS: readonly (readonly [name: string, update: Uint8Array])[] = [
  ['bytes of chance', new Uint8Array([255, 254, 253, 1, 2, 3])],
  ['an update cut short', Y.encodeStateAsUpdate(docWithText()).slice(0, -3)],
  [
    '30,000,000 announced structs in 7 bytes',
    updateOf((encoder) => {
      for (const number of [1, 30_000_000, 1]) encoding.writeVarUint(encoder, number);
    }),
  ],
  ['deleted content of 2^40 clocks', deletedContent({ client: 7, clock: 0, length: 2 ** 40 })],
  ['maps nested 8,000 deep', nestedMaps(8_000)],
  ['the key __proto__', mapWithKey('__proto__')],
];

function docWithText(): Y.Doc {
  const doc = new Y.Doc();
  doc.getText('text').insert(0, 'some text');
  return doc;
}
