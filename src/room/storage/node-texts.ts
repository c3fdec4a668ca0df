/**
 * All nodes of Storage as text, each by itself: in full, a line each, for back ends and versions of the history, or as one array (protocol 5.1, 7.2);
 * compact, for clients and snapshots (protocol 4.4). Written right from the nodes, as documents are.
 */
import { JsonWriter } from '../../base/json-writer.ts';
import type { PieceWriter } from '../../base/piece-writer.ts';
import { textIn } from '../../base/pieces.ts';
import { Utf8Writer } from '../../base/utf8-writer.ts';
import { STORAGE_FRAME } from '../../protocol/server-messages.ts';
import { CRDT } from '../../protocol/storage-ops.ts';
import type { StorageNode } from './nodes.ts';
import { plainEntries } from './plain-values.ts';
import type { Storage } from './tree.ts';

/** What most nodes take, a guess. */
const BYTES_PER_NODE = 80;
/** Keeps any one JSON object that a client must hold at once small. */
const NODES_PER_CHUNK = 2_000;

/** What stands around nodes and between them. */
const PUNCTUATION = {
  lines: { before: '', between: '\n', after: '\n' },
  array: { before: '[', between: ',', after: ']' },
} as const;

/** Writes `[id, SerializedCrdt]` for each node, the root first. Between two parts the Storage must not change. */
export class NodesWriter {
  readonly #out: PieceWriter;
  readonly #left: Iterator<StorageNode>;
  readonly #marks: (typeof PUNCTUATION)[keyof typeof PUNCTUATION];
  #mark: string;

  constructor({ nodes }: Storage, out: PieceWriter, format: keyof typeof PUNCTUATION) {
    this.#out = out;
    this.#left = nodes.values();
    this.#marks = PUNCTUATION[format];
    this.#mark = this.#marks.before;
  }

  /** Writes up to so many nodes more. Returns whether all is written. */
  write(nodesMax: number): boolean {
    for (let written = 0; written < nodesMax; written += 1) {
      const next = this.#left.next();
      if (next.done) {
        this.#out.raw(this.#marks.after);
        return true;
      }
      this.#out.member(next.value.id);
      this.#out.raw(this.#mark);
      this.#mark = this.#marks.between;
      writeInFull(this.#out, next.value);
    }
    return false;
  }
}

/** Writes the frame that tells a client all of Storage, the root first. Between two parts the Storage must not change. */
export class FrameWriter {
  readonly #out: PieceWriter;
  readonly #left: Iterator<StorageNode>;
  #written = 0;

  constructor({ nodes }: Storage, out: PieceWriter) {
    this.#out = out;
    this.#left = nodes.values();
    this.#out.raw(STORAGE_FRAME.begin);
  }

  /** Writes up to so many nodes more. Returns whether all is written. */
  write(nodesMax: number): boolean {
    for (let written = 0; written < nodesMax; written += 1) {
      const next = this.#left.next();
      if (next.done) {
        this.#out.raw(STORAGE_FRAME.endChunk + STORAGE_FRAME.end); // the root is always there, and so is a chunk
        return true;
      }
      this.#out.member(next.value.id);
      this.#out.raw(this.#before());
      writeCompact(this.#out, next.value);
      this.#written += 1;
    }
    return false;
  }

  #before(): string {
    if (this.#written % NODES_PER_CHUNK !== 0) return ',';
    return this.#written === 0 ? STORAGE_FRAME.beginChunk : STORAGE_FRAME.endChunk + STORAGE_FRAME.beginChunk;
  }
}

/** All nodes as compact ones, commas between them. */
export function compactText({ nodes }: Storage): string {
  const text = new Utf8Writer(nodes.size * BYTES_PER_NODE);
  const out = new JsonWriter(text);
  let isFirst = true;
  for (const node of nodes.values()) {
    if (!isFirst) out.raw(',');
    isFirst = false;
    writeCompact(out, node);
  }
  return textIn([text.done()]);
}

function writeInFull(out: JsonWriter, node: StorageNode): void {
  out.raw('[');
  out.text(node.id);
  out.raw(',{');
  if (node.parent !== null) {
    out.raw('"parentId":');
    out.text(node.parent.id);
    out.raw(',"parentKey":');
    out.text(node.key);
    out.raw(',');
  }
  out.raw(`"type":${node.type}`);
  writeData(out, node, { dataName: ',"data":', versionName: ',"version":' });
  out.raw('}]');
}

function writeCompact(out: JsonWriter, node: StorageNode): void {
  out.raw('[');
  out.text(node.id);
  if (node.parent !== null) {
    out.raw(`,${node.type},`);
    out.text(node.parent.id);
    out.raw(',');
    out.text(node.key);
  }
  writeData(out, node, { dataName: ',', versionName: ',' });
  out.raw(']');
}

interface Names {
  readonly dataName: string;
  readonly versionName: string;
}

/** What a node holds by itself, without its children. */
function writeData(out: JsonWriter, node: StorageNode, { dataName, versionName }: Names): void {
  switch (node.type) {
    case CRDT.LIST:
    case CRDT.MAP:
      break;
    case CRDT.OBJECT:
      out.raw(`${dataName}{`);
      out.members(plainEntries(node.data));
      out.raw('}');
      break;
    case CRDT.REGISTER:
      out.raw(dataName);
      out.value(node.data);
      break;
    case CRDT.FILE:
      out.raw(dataName + JSON.stringify(node.data));
      break;
    case CRDT.TEXT:
      out.raw(dataName + JSON.stringify(node.data) + versionName + node.version);
      break;
    default:
      node satisfies never;
  }
}
