/**
 * An update in the V2 encoding of Yjs becomes one in V1, at the door: nothing behind it knows V2. Yjs' own conversion follows any count that a run declares; 27 bytes
 * keep it busy without end.
 *
 * Here each step writes a byte at least, and what is written is bounded by the bytes that came: hence the work is, and the memory. It is only read as far as V1
 * needs; what may be in an update is for the scan of V1 to say.
 */
import { anyToJson } from './any-json.ts';
import { ByteReader, invalidUpdate } from './byte-reader.ts';
import { YDOC_LIMITS, type YdocLimits } from './limits.ts';
import { GAP } from './scan.ts';
import { CONTENT, NAMED_TYPE_REFS, scanAny } from './scan-content.ts';
import { HAS_KEY, HAS_ORIGIN, HAS_RIGHT_ORIGIN, KIND } from './scan-struct.ts';
import { V1Writer } from './v1-writer.ts';
import { ByteColumn, DiffColumn, TextColumn, UintColumn } from './v2-columns.ts';

export interface FromV2 {
  /** In V1. */
  readonly update: Uint8Array;
  /** For how many messages it counts beside its own, as it is longer in V1. */
  readonly messages: number;
}

/** @throws AppError YJS_UPDATE_INVALID */
export function fromV2(sent: Uint8Array, limits: YdocLimits = YDOC_LIMITS): FromV2 {
  const bytesMax = Math.min(limits.fromV2BytesMax, sent.length * limits.fromV2BytesPerByte + limits.fromV2BytesMore);
  const update = new Conversion(sent, bytesMax, limits.nestingMax).run();
  return { update, messages: Math.floor(Math.max(0, update.length - sent.length) / limits.fromV2BytesPerMessage) };
}

/** A block takes two bytes beside the columns, deletions of a client and a range of them as many. */
const ENTRY_BYTES_MIN = 2;
const COLLECTED = 0;
/** What V1 takes beyond V2 where little is in common, as in what is typed. */
const BYTES_FIRST = 64;

class Conversion {
  readonly #nestingMax: number;
  readonly #out: V1Writer;
  readonly #keyClocks: DiffColumn;
  readonly #clients: UintColumn;
  readonly #leftClocks: DiffColumn;
  readonly #rightClocks: DiffColumn;
  readonly #infos: ByteColumn;
  readonly #texts: TextColumn;
  readonly #parents: ByteColumn;
  readonly #typeRefs: UintColumn;
  readonly #lengths: UintColumn;
  /** All that stands in no column. */
  readonly #rest: ByteReader;
  /** In the order in which they came: one that comes again is told by its number. */
  readonly #keys: string[] = [];

  constructor(sent: Uint8Array, bytesMax: number, nestingMax: number) {
    this.#nestingMax = nestingMax;
    this.#out = new V1Writer(2 * sent.length + BYTES_FIRST, bytesMax);
    const reader = new ByteReader(sent);
    reader.varUint(); // reserved by Yjs, and read by nobody
    this.#keyClocks = new DiffColumn(reader.part());
    this.#clients = new UintColumn(reader.part());
    this.#leftClocks = new DiffColumn(reader.part());
    this.#rightClocks = new DiffColumn(reader.part());
    this.#infos = new ByteColumn(reader.part());
    this.#texts = new TextColumn(reader.part());
    this.#parents = new ByteColumn(reader.part());
    this.#typeRefs = new UintColumn(reader.part());
    this.#lengths = new UintColumn(reader.part());
    this.#rest = reader;
  }

  run(): Uint8Array {
    for (let blocks = this.#count(); blocks > 0; blocks -= 1) this.#block();
    for (let clients = this.#count(); clients > 0; clients -= 1) this.#deletions();
    if (this.#rest.left > 0) throw invalidUpdate('bytes follow its end');
    return this.#out.toBytes();
  }

  #count(): number {
    return this.#wrote(this.#rest.count(ENTRY_BYTES_MIN));
  }

  #wrote(value: number): number {
    this.#out.varUint(value);
    return value;
  }

  #block(): void {
    const structs = this.#wrote(this.#rest.varUint());
    this.#wrote(this.#clients.next());
    this.#wrote(this.#rest.varUint());
    for (let left = structs; left > 0; left -= 1) this.#struct();
  }

  #struct(): void {
    const info = this.#infos.next();
    this.#out.byte(info);
    if (info === GAP) {
      this.#wrote(this.#rest.varUint());
    } else if (info === COLLECTED) {
      this.#wrote(this.#lengths.next());
    } else {
      this.#place(info);
      this.#content(info & KIND);
    }
  }

  #place(info: number): void {
    if (info & HAS_ORIGIN) this.#id(this.#leftClocks);
    if (info & HAS_RIGHT_ORIGIN) this.#id(this.#rightClocks);
    if (info & (HAS_ORIGIN | HAS_RIGHT_ORIGIN)) return;
    if (this.#wrote(this.#parents.next()) === 1) this.#text();
    else this.#id(this.#leftClocks);
    if (info & HAS_KEY) this.#text();
  }

  #id(clocks: DiffColumn): void {
    this.#wrote(this.#clients.next());
    this.#wrote(clocks.next());
  }

  #text(): void {
    this.#out.text(this.#texts.next());
  }

  #key(): void {
    const clock = this.#keyClocks.next();
    if (clock >= this.#keys.length) this.#keys.push(this.#texts.next());
    const key = this.#keys[Math.min(clock, this.#keys.length - 1)];
    if (key === undefined) throw invalidUpdate('a key in it has no text');
    this.#out.text(key);
  }

  #content(kind: number): void {
    switch (kind) {
      case CONTENT.deleted:
        this.#wrote(this.#lengths.next());
        return;
      case CONTENT.json:
        for (let left = this.#wrote(this.#lengths.next()); left > 0; left -= 1) this.#text();
        return;
      case CONTENT.binary:
        this.#blob(this.#rest.part().bytes);
        return;
      case CONTENT.string:
        this.#text();
        return;
      case CONTENT.embed:
        this.#json();
        return;
      case CONTENT.format:
        this.#key();
        this.#json();
        return;
      case CONTENT.type:
        if (NAMED_TYPE_REFS.includes(this.#wrote(this.#typeRefs.next()))) this.#key();
        return;
      case CONTENT.any:
        for (let left = this.#wrote(this.#lengths.next()); left > 0; left -= 1) this.#any();
        return;
      case CONTENT.document:
        this.#text();
        this.#any();
        return;
      default:
        throw invalidUpdate(`it holds content of the unknown kind ${kind}`);
    }
  }

  #blob(bytes: Uint8Array): void {
    this.#wrote(bytes.length);
    this.#out.copy(bytes);
  }

  #json(): void {
    const bounds = { nestingMax: this.#nestingMax, charactersMax: this.#out.bytesLeft };
    this.#out.text(anyToJson(this.#rest, bounds));
  }

  /** The same in both. */
  #any(): void {
    const from = this.#rest.at;
    scanAny(this.#rest, this.#nestingMax);
    this.#out.copy(this.#rest.bytes.subarray(from, this.#rest.at));
  }

  #deletions(): void {
    this.#wrote(this.#rest.varUint());
    let clock = 0;
    for (let ranges = this.#count(); ranges > 0; ranges -= 1) {
      clock = this.#wrote(clock + this.#rest.varUint());
      clock += this.#wrote(this.#rest.varUint() + 1);
    }
  }
}
