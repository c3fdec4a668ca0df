/**
 * All nodes of Storage as text, each by itself: in full, a line each, for back ends and versions of the history (protocol 5.1, 7.2); compact, for clients
 * and snapshots (protocol 4.4). Written right from the nodes, as documents are.
 */
import { JsonWriter, textOf } from '../../base/json-writer.ts';
import { CRDT } from '../../protocol/storage-ops.ts';
import type { StorageNode } from './nodes.ts';
import { plainEntries } from './plain-values.ts';
import type { Storage } from './tree.ts';

/** What most nodes take, a guess. */
const BYTES_PER_LINE = 110;
const BYTES_PER_NODE = 80;
/** Keeps any one JSON object that a client must hold at once small. */
const NODES_PER_TEXT = 2_000;

/** Writes a line `[id, SerializedCrdt]` for each node, the root first. Between two parts the Storage must not change. */
export class LinesWriter {
  readonly #out: JsonWriter;
  readonly #left: Iterator<StorageNode>;

  constructor({ nodes }: Storage) {
    this.#out = new JsonWriter(nodes.size * BYTES_PER_LINE);
    this.#left = nodes.values();
  }

  /** Writes up to so many nodes more. Returns whether all is written. */
  write(nodesMax: number): boolean {
    for (let written = 0; written < nodesMax; written += 1) {
      const next = this.#left.next();
      if (next.done) return true;
      writeLine(this.#out, next.value);
    }
    return false;
  }

  done(): Uint8Array {
    return this.#out.done();
  }
}

/** All nodes as compact ones, commas between them; some in each text. */
export function compactTexts({ nodes }: Storage): string[] {
  const texts: string[] = [];
  const left = nodes.values();
  for (let begun = 0; begun < nodes.size; begun += NODES_PER_TEXT) {
    const count = Math.min(NODES_PER_TEXT, nodes.size - begun);
    const out = new JsonWriter(count * BYTES_PER_NODE);
    for (let written = 0; written < count; written += 1) {
      if (written > 0) out.raw(',');
      writeCompact(out, left.next().value!);
    }
    texts.push(textOf(out.done()));
  }
  return texts;
}

function writeLine(out: JsonWriter, node: StorageNode): void {
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
  out.raw('}]\n');
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
