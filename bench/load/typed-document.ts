/**
 * A Yjs document of a given size as people leave it behind who wrote it together: chapters of paragraphs, words put in where others had
 * written, bold ones, some deleted. The same bytes every time, from numbers that only look like chance.
 */
import * as Y from 'yjs';

export interface TypedDocument {
  readonly doc: Y.Doc;
  /** One a chapter, in order: what an editor sends while it is written. */
  readonly updates: readonly Uint8Array[];
  /** Of the document as one update. */
  readonly bytes: number;
}

const AUTHORS = 8;
const PARAGRAPHS_PER_CHAPTER = 40;
const WORDS_PER_PARAGRAPH = 60;
/** About what a paragraph takes. */
const PARAGRAPH_BYTES = 900;
/** Of a hundred words: put in elsewhere in the paragraph, made bold, deleted. */
const INSERTED_PERCENT = 30;
const BOLD_PERCENT = 4;
const DELETED_PERCENT = 6;
const WORDS = [
  'the',
  'room',
  'of',
  'people',
  'writes',
  'together',
  'and',
  'nobody',
  'waits',
  'for',
  'another',
  'changes',
  'é',
  'arrive',
];

/** At least so many bytes, by less than a chapter more. */
export function typedDocument(bytesMin: number): TypedDocument {
  const doc = new Y.Doc();
  const chance = numbersFrom(1);
  const updates: Uint8Array[] = [];
  let bytes = 0;
  doc.on('update', (update) => {
    updates.push(update);
    bytes += update.length;
  });
  for (let chapter = 0; bytes < bytesMin; chapter += 1) {
    doc.clientID = 1_000 + (chapter % AUTHORS);
    const paragraphs = Math.min(PARAGRAPHS_PER_CHAPTER, Math.ceil((bytesMin - bytes) / PARAGRAPH_BYTES));
    doc.transact(() => writeChapter(doc, { chapter, chance, paragraphs }));
  }
  return { doc, updates, bytes: Y.encodeStateAsUpdate(doc).length };
}

interface Chapter {
  readonly chapter: number;
  readonly chance: () => number;
  readonly paragraphs: number;
}

function writeChapter(doc: Y.Doc, { chapter, chance, paragraphs }: Chapter): void {
  const heading = new Y.XmlElement('heading');
  heading.insert(0, [new Y.XmlText(`Chapter ${chapter}`)]);
  const written = Array.from({ length: paragraphs }, () => {
    const paragraph = new Y.XmlElement('paragraph');
    paragraph.insert(0, [new Y.XmlText()]);
    return paragraph;
  });
  const body = doc.getXmlFragment('prosemirror');
  body.insert(body.length, [heading, ...written]);
  for (const paragraph of written) writeParagraph(paragraph.get(0) as Y.XmlText, chance);
}

function writeParagraph(text: Y.XmlText, chance: () => number): void {
  for (let count = 0; count < WORDS_PER_PARAGRAPH; count += 1) {
    const word = `${WORDS[chance() % WORDS.length]!} `;
    const at = chance() % 100 < INSERTED_PERCENT ? chance() % (text.length + 1) : text.length;
    text.insert(at, word);
    const turn = chance() % 100;
    if (turn < BOLD_PERCENT) text.format(at, word.length, { bold: true });
    else if (turn < BOLD_PERCENT + DELETED_PERCENT) text.delete(Math.max(0, at - 3), Math.min(3, text.length));
  }
}

/** A linear congruence (numbers of Numerical Recipes), of which the upper bits are taken. */
function numbersFrom(seed: number): () => number {
  let state = seed;
  return () => {
    state = (Math.imul(state, 1_664_525) + 1_013_904_223) >>> 0;
    return state >>> 8;
  };
}
