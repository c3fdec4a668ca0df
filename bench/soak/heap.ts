/** Heap snapshots of V8, as `--heapsnapshot-signal` writes them: what is held, and through what, so that two of them tell what has grown. */
import { readFileSync } from 'node:fs';

interface Snapshot {
  readonly snapshot: { readonly meta: Meta };
  readonly nodes: readonly number[];
  readonly edges: readonly number[];
  readonly strings: readonly string[];
}

interface Meta {
  readonly node_fields: readonly string[];
  readonly node_types: readonly [readonly string[], ...unknown[]];
  readonly edge_fields: readonly string[];
  readonly edge_types: readonly [readonly string[], ...unknown[]];
}

/** Objects that are held in the same way. */
export interface Held {
  count: number;
  bytes: number;
}

/** By the way in which it is held: the object, what holds it under which name, what holds that, and so on. */
export type Holdings = ReadonlyMap<string, Held>;

export interface Growth extends Held {
  readonly way: string;
}

/** Names on a way: enough to see whose it is. */
const HOPS = 8;
const NAME_LENGTH_MAX = 40;
/** Lists of timers, and the caches of the module loader: whatever is held through these is held through something of ours, too, or is none of it. */
const LAST = /^_idle(Next|Prev)$|resolve_cache/;
/** V8's own: code is compiled and thrown away at any time, and texts of its own table are held by whoever else has them. */
const NOT_OURS = /^(code|hidden|object shape|native|synthetic)$/;
const OWN_TABLE = 'synthetic (Internalized strings)';

export function holdingsIn(file: string): Holdings {
  const graph = new Graph(JSON.parse(readFileSync(file, 'utf8')) as Snapshot);
  const holdings = new Map<string, Held>();
  for (let node = 0; node < graph.size; node += 1) {
    if (!graph.isReached(node) || NOT_OURS.test(graph.typeOf(node))) continue;
    const way = graph.wayTo(node);
    if (way.includes(OWN_TABLE)) continue;
    const held = holdings.get(way) ?? { count: 0, bytes: 0 };
    held.count += 1;
    held.bytes += graph.bytesOf(node);
    holdings.set(way, held);
  }
  return holdings;
}

/** Ways by which at least so many objects more are held than before, the most first. */
export function grownBy(before: Holdings, after: Holdings, countMin: number): Growth[] {
  const grown = [...after].flatMap(([way, { count, bytes }]): Growth[] => {
    const earlier = before.get(way) ?? { count: 0, bytes: 0 };
    return count - earlier.count < countMin ? [] : [{ way, count: count - earlier.count, bytes: bytes - earlier.bytes }];
  });
  return grown.sort((one, other) => other.bytes - one.bytes);
}

/** Every object with the shortest way from the roots. */
class Graph {
  readonly size: number;
  readonly #snapshot: Snapshot;
  readonly #fields: ReadonlyMap<string, number>;
  readonly #edgeFields: ReadonlyMap<string, number>;
  /** By node, where its edges begin; one more at the end. */
  readonly #edgesFrom: Uint32Array;
  /** By node, what holds it, and through which edge; -1 where nothing does. */
  readonly #holder: Int32Array;
  readonly #through: Uint32Array;

  constructor(snapshot: Snapshot) {
    const { node_fields, edge_fields } = snapshot.snapshot.meta;
    this.#snapshot = snapshot;
    this.#fields = new Map(node_fields.map((name, at) => [name, at]));
    this.#edgeFields = new Map(edge_fields.map((name, at) => [name, at]));
    this.size = snapshot.nodes.length / node_fields.length;
    this.#edgesFrom = new Uint32Array(this.size + 1);
    for (let node = 0; node < this.size; node += 1)
      this.#edgesFrom[node + 1] = this.#edgesFrom[node]! + this.#field(node, 'edge_count');
    this.#holder = new Int32Array(this.size).fill(-1);
    this.#through = new Uint32Array(this.size);
    this.#walk();
  }

  isReached(node: number): boolean {
    return this.#holder[node] !== -1;
  }

  typeOf(node: number): string {
    return this.#snapshot.snapshot.meta.node_types[0][this.#field(node, 'type')]!;
  }

  bytesOf(node: number): number {
    return this.#field(node, 'self_size');
  }

  wayTo(node: number): string {
    const steps: string[] = [];
    for (let at = node; steps.length < HOPS && at !== 0; at = this.#holder[at]!)
      steps.push(`${this.#nameOf(at)} <${this.#nameOfEdge(this.#through[at]!)}`);
    return steps.join(' | ');
  }

  /** Breadth first, from the root, which is the first node. */
  #walk(): void {
    const queue = [0];
    const later: number[] = [];
    this.#holder[0] = 0;
    let next = 0;
    const visitAll = (): void => {
      for (; next < queue.length; next += 1) {
        const node = queue[next]!;
        for (let edge = this.#edgesFrom[node]!; edge < this.#edgesFrom[node + 1]!; edge += 1) {
          if (this.#edgeType(edge) === 'weak') continue;
          if (LAST.test(this.#nameOfEdge(edge))) later.push(node, edge);
          else this.#reach(node, edge, queue);
        }
      }
    };
    visitAll();
    for (let at = 0; at < later.length; at += 2) {
      this.#reach(later[at]!, later[at + 1]!, queue);
      visitAll();
    }
  }

  #reach(holder: number, edge: number, queue: number[]): void {
    const node = this.#edgeField(edge, 'to_node') / this.#fields.size;
    if (this.#holder[node] !== -1) return;
    this.#holder[node] = holder;
    this.#through[node] = edge;
    queue.push(node);
  }

  /** Texts are not told apart. */
  #nameOf(node: number): string {
    const type = this.typeOf(node);
    return type.includes('string') ? type : `${type} ${this.#text(this.#field(node, 'name'))}`;
  }

  /** Nor are places in a list or a table. */
  #nameOfEdge(edge: number): string {
    const type = this.#edgeType(edge);
    if (type === 'element' || type === 'hidden') return '[]';
    const name = this.#text(this.#edgeField(edge, 'name_or_index'));
    return /^\d+$/.test(name) ? '[]' : name;
  }

  #text(at: number): string {
    return this.#snapshot.strings[at]!.slice(0, NAME_LENGTH_MAX);
  }

  #edgeType(edge: number): string {
    return this.#snapshot.snapshot.meta.edge_types[0][this.#edgeField(edge, 'type')]!;
  }

  #field(node: number, name: string): number {
    return this.#snapshot.nodes[node * this.#fields.size + this.#fields.get(name)!]!;
  }

  #edgeField(edge: number, name: string): number {
    return this.#snapshot.edges[edge * this.#edgeFields.size + this.#edgeFields.get(name)!]!;
  }
}
