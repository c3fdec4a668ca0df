/**
 * What the server told one client about Storage, taken at its word: the snapshot, then every op in order, nothing of one's own.
 *
 * It tells whose fault a divergence is. When the mirror shows what the server has, the client was told everything and reads it wrongly;
 * when not, the server failed to tell. Written from protocol 4.4 and 5.2 alone; it shares nothing with `src/room/storage`.
 */
import { asMessages, CODE, type Message, OP } from '../support/e2e/messages.ts';

const KIND = { object: 0, list: 1, map: 2, register: 3, text: 4, file: 5 } as const;
const KIND_OF_CREATE: Readonly<Record<number, number>> = {
  [OP.createObject]: KIND.object,
  [OP.createList]: KIND.list,
  [OP.createMap]: KIND.map,
  [OP.createRegister]: KIND.register,
  [OP.createText]: KIND.text,
  [OP.createFile]: KIND.file,
};

interface Node {
  readonly kind: number;
  parentId: string | null;
  key: string;
  data: any;
  version: number;
}

export class Mirror {
  /** Rules of the protocol that the server broke towards this client. */
  readonly complaints: string[] = [];
  #nodes: Map<string, Node> | null = null;
  #arriving = new Map<string, Node>();
  /** Ops sent over the present socket and not yet answered. */
  #unanswered = new Set<string>();
  readonly #answered = new Set<string>();

  /** A new socket is open: the server owes a snapshot before anything else. */
  opened(): void {
    this.#nodes = null;
    this.#arriving.clear();
    this.#unanswered = new Set();
  }

  sent(frame: unknown): void {
    for (const message of asMessages(frame)) {
      if (message.type !== CODE.storageOps) continue;
      for (const { opId } of message.ops as Message[]) this.#unanswered.add(opId as string);
    }
  }

  heard(frame: unknown): void {
    for (const message of asMessages(frame)) {
      if (message.type === CODE.storageChunk) for (const compact of message.nodes as unknown[][]) this.#arrive(compact);
      else if (message.type === CODE.storageEnd) this.#adopt();
      else if (message.type === CODE.storageOps) for (const op of message.ops as Message[]) this.#hearOp(op);
      else if (message.type === CODE.rejected) for (const opId of message.opIds as string[]) this.#answer(opId);
    }
  }

  /** How many ops of the present socket still want an answer. */
  get unansweredCount(): number {
    return this.#unanswered.size;
  }

  /** The tree as JSON; null without a snapshot. */
  toJSON(): unknown {
    return this.#nodes === null ? null : this.#jsonOf('root');
  }

  #arrive([id, kind, parentId, key, data, version]: any[]): void {
    if (id === 'root') this.#arriving.set(id, { kind: KIND.object, parentId: null, key: '', data: { ...kind }, version: 0 });
    else this.#arriving.set(id, { kind, parentId, key, data: ownData(kind, data), version: version ?? 0 });
  }

  #adopt(): void {
    if (!this.#arriving.has('root')) this.complaints.push('a snapshot has no root');
    this.#nodes = this.#arriving;
    this.#arriving = new Map();
  }

  #hearOp(op: Message): void {
    if (this.#nodes === null) this.complaints.push(`an op came before the snapshot: ${JSON.stringify(op)}`);
    if (op.opId !== undefined) this.#answer(op.opId as string);
    if (op.type !== OP.deleteCrdt || op.id !== 'ACK') this.#apply(this.#nodes ?? new Map(), op);
  }

  #answer(opId: string): void {
    if (!this.#unanswered.delete(opId) && !this.#answered.has(opId)) {
      this.complaints.push(`an answer came to ${opId}, which this client never sent over this socket`);
    }
    this.#answered.add(opId);
  }

  #apply(nodes: Map<string, Node>, op: Message): void {
    const kind = KIND_OF_CREATE[op.type];
    const node = nodes.get(op.id as string);
    if (kind !== undefined) this.#create(nodes, op, kind);
    else if (node === undefined) return;
    else if (op.type === OP.setParentKey) node.key = op.parentKey;
    else if (op.type === OP.deleteCrdt) this.#remove(nodes, op.id);
    else if (op.type === OP.updateObject) for (const [key, value] of Object.entries(op.data)) this.#set(nodes, op.id, key, value);
    else if (op.type === OP.deleteObjectKey) this.#set(nodes, op.id, op.key, undefined);
    else if (op.type === OP.updateText && op.version > node.version) {
      for (const operation of op.ops as Message[]) editCharacters(node.data, operation);
      node.version = op.version;
    }
  }

  #create(nodes: Map<string, Node>, op: Message, kind: number): void {
    const parent = nodes.get(op.parentId);
    const known = nodes.get(op.id);
    if (known !== undefined) known.key = op.parentKey; // said again, to one who may have missed it
    if (known !== undefined || parent === undefined) return;
    if (parent.kind === KIND.list) {
      if (op.intent === 'set' && nodes.get(op.deletedId)?.parentId === op.parentId) this.#remove(nodes, op.deletedId);
    } else this.#set(nodes, op.parentId, op.parentKey, undefined);
    nodes.set(op.id, { kind, parentId: op.parentId, key: op.parentKey, data: ownData(kind, op.data), version: op.version ?? 0 });
  }

  /** A plain value, or nothing, in place of whatever is at the key of an object or map. */
  #set(nodes: Map<string, Node>, id: string, key: string, value: unknown): void {
    for (const [childId, child] of [...nodes]) if (child.parentId === id && child.key === key) this.#remove(nodes, childId);
    const { kind, data } = nodes.get(id)!;
    if (kind !== KIND.object) return;
    if (value === undefined) delete data[key];
    else data[key] = value;
  }

  #remove(nodes: Map<string, Node>, id: string): void {
    nodes.delete(id);
    for (const [childId, { parentId }] of [...nodes]) if (parentId === id) this.#remove(nodes, childId);
  }

  #jsonOf(id: string): unknown {
    const { kind, data } = this.#nodes!.get(id)!;
    if (kind === KIND.register || kind === KIND.file) return data;
    if (kind === KIND.text) return segmentsOf(data);
    const children = [...this.#nodes!].filter(([, { parentId }]) => parentId === id);
    if (kind !== KIND.list)
      return { ...data, ...Object.fromEntries(children.map(([childId, { key }]) => [key, this.#jsonOf(childId)])) };
    children.sort(([, { key: one }], [, { key: other }]) => (one < other ? -1 : 1));
    return children.map(([childId]) => this.#jsonOf(childId));
  }
}

/** One UTF-16 code unit and its attributes. */
type Character = readonly [unit: string, attributes: Readonly<Record<string, unknown>>];

function ownData(kind: number, data: any): any {
  if (kind === KIND.text) return (data as [string, object?][]).flatMap(([text, attributes]) => charactersOf(text, attributes));
  return kind === KIND.object ? { ...data } : data;
}

function charactersOf(text: string, attributes: object = {}): Character[] {
  return text.split('').map((unit) => [unit, { ...attributes }]);
}

function editCharacters(characters: Character[], { type, index, length, text, attributes }: Message): void {
  if (type === ('insert' as never)) characters.splice(index, 0, ...charactersOf(text, attributes));
  else if (type === ('delete' as never)) characters.splice(index, length);
  else
    for (let at = index; at < index + length; at += 1)
      characters[at] = [characters[at]![0], formatted(characters[at]![1], attributes)];
}

function formatted(attributes: object, patch: object): Record<string, unknown> {
  return Object.fromEntries(Object.entries({ ...attributes, ...patch }).filter(([, value]) => value !== null));
}

function segmentsOf(characters: readonly Character[]): unknown[] {
  const segments: { text: string; attributes: object; name: string }[] = [];
  for (const [unit, attributes] of characters) {
    const name = JSON.stringify(Object.entries(attributes).sort());
    const last = segments.at(-1);
    if (last?.name === name) last.text += unit;
    else segments.push({ text: unit, attributes, name });
  }
  return segments.map(({ text, attributes }) => (Object.keys(attributes).length === 0 ? [text] : [text, attributes]));
}
