/**
 * What the relay does when it keeps rooms as ours does and nothing else: each frame is a command, the room decides, what it decides is told and goes into
 * the same journal, fenced, with the next beat. No shell stands around it: no other worker, no session that moves, no rates and bounds, no gate, no ticks,
 * no snapshots, no REST.
 */
import { startEmbeddedPostgres } from '../../src/adapters/embedded-postgres.ts';
import { openPostgres } from '../../src/adapters/postgres-sql.ts';
import { concat } from '../../src/base/binary.ts';
import { systemClock, systemRandom } from '../../src/base/clock.ts';
import { asRoomId, asSessionId, type SessionId } from '../../src/base/ids.ts';
import { silentLog } from '../../src/base/observe.ts';
import type { Appender, JournalEntry } from '../../src/kernel/persistence/journal.ts';
import { type Sql, sql } from '../../src/kernel/persistence/sql.ts';
import { SqlJournal } from '../../src/kernel/persistence/sql-journal.ts';
import { FULL_ACCESS } from '../../src/protocol/permissions.ts';
import { encodeForYjs, type ServerMessage } from '../../src/protocol/server-messages.ts';
import { saidIn } from '../../src/room/frame-commands.ts';
import { encodeRecord } from '../../src/room/journal-record.ts';
import { decide, emptyRoom } from '../../src/room/room.ts';
import type { Audience, Command, RoomState } from '../../src/room/shapes.ts';

/** As ours. */
const BEAT_MS = 100;
const LIMITS = { connectionsMax: 1_000, presenceBytesMax: 64 * 1024, ydocsMax: 100 };
const NUMBERS = { from: 1, to: 1_000 };
/** Rates are not kept here. */
const NO_RATE = { isWithinRate: () => true };
const EPOCH = 1;

export type Hear = (frame: Uint8Array) => void;

export class Rooms {
  readonly #db: Sql;
  readonly #journal: SqlJournal;
  readonly #close: () => Promise<void>;
  readonly #rooms = new Map<string, KeptRoom>();
  readonly #due: KeptRoom[] = [];

  private constructor(db: Sql, close: () => Promise<void>) {
    this.#db = db;
    this.#close = close;
    this.#journal = new SqlJournal({ db, clock: systemClock, log: silentLog });
  }

  /** Starts a private Postgres, as Atrium does, on an empty directory, with the columns that the journal's statements name. */
  static async open(dataDir: string): Promise<Rooms> {
    const onExit = (reason: string): never => {
      throw new Error(reason);
    };
    const postgres = await startEmbeddedPostgres({ dataDir, clock: systemClock, random: systemRandom, log: silentLog, onExit });
    const db = openPostgres({ url: postgres.url, poolMax: 1, log: silentLog });
    await db.query(sql`create table actor_owner (stream bigint primary key, epoch bigint not null)`);
    await db.query(sql`
      create table journal (stream bigint, version bigint, count integer, epoch bigint, crc integer, payload bytea, primary key (stream, version))`);
    return new Rooms(db, () => db.close().then(() => postgres.stop()));
  }

  /** Its room's row is there before the client may enter. */
  async make(id: string): Promise<void> {
    if (this.#rooms.has(id)) return;
    const stream = this.#rooms.size + 1;
    this.#rooms.set(id, new KeptRoom(id, { stream, journal: this.#journal, isDue: (room) => this.#isDue(room) }));
    await this.#db.query(sql`insert into actor_owner (stream, epoch) values (${stream}, ${EPOCH})`);
  }

  of(id: string): KeptRoom {
    return this.#rooms.get(id)!;
  }

  close(): Promise<void> {
    this.#journal.close();
    return this.#close();
  }

  #isDue(room: KeptRoom): void {
    this.#due.push(room);
    if (this.#due.length > 1) return;
    setTimeout(() => {
      for (const due of this.#due.splice(0)) due.append();
    }, BEAT_MS);
  }
}

interface RoomDeps {
  readonly stream: number;
  readonly journal: SqlJournal;
  readonly isDue: (room: KeptRoom) => void;
}

let sessions = 0;

export class KeptRoom implements Appender {
  readonly #deps: RoomDeps;
  readonly #state: RoomState;
  readonly #hearers = new Map<SessionId, Hear>();
  #records: Uint8Array[] = [];
  #isAppending = false;

  constructor(id: string, deps: RoomDeps) {
    this.#deps = deps;
    this.#state = emptyRoom(asRoomId(id), NUMBERS);
  }

  enter(hear: Hear): SessionId {
    sessions += 1;
    const id = asSessionId(`session-${sessions}`);
    this.#hearers.set(id, hear);
    const who = { kind: 'yjs', userId: null, info: null, permissions: FULL_ACCESS } as const;
    this.#act({ type: 'session.join', newcomer: { id, ...who } });
    return id;
  }

  leave(session: SessionId): void {
    this.#hearers.delete(session);
    this.#act({ type: 'session.leave', sessionId: session });
  }

  hear(frame: Uint8Array, from: SessionId): void {
    for (const command of saidIn(frame, { kind: 'yjs', from, rate: NO_RATE }).commands) this.#act(command);
  }

  append(): void {
    if (this.#isAppending || this.#records.length === 0) return;
    this.#isAppending = true;
    const [records, { version }] = [this.#records, this.#state];
    this.#records = [];
    this.#deps.journal.append(
      { stream: this.#deps.stream, epoch: EPOCH, version, count: records.length, payload: concat(records) },
      this,
    );
  }

  appended(): void {
    this.#isAppending = false;
    if (this.#records.length > 0) this.#deps.isDue(this);
  }

  notAppended(_: JournalEntry, error: unknown): void {
    throw error;
  }

  #act(command: Command): void {
    for (const effect of decide(this.#state, command, { nowMs: Date.now(), monotonicMs: performance.now(), limits: LIMITS })) {
      if (effect.type === 'send') this.#tell(effect.to, effect.message);
      else if (effect.type === 'journal') this.#keep(encodeRecord(effect.record));
    }
  }

  #keep(record: Uint8Array): void {
    this.#records.push(record);
    if (this.#records.length === 1 && !this.#isAppending) this.#deps.isDue(this);
  }

  #tell(to: Audience, message: ServerMessage): void {
    const frame = encodeForYjs(message);
    if (frame === null) return;
    for (const [id, hear] of this.#hearers) if (isFor(to, id)) hear(frame);
  }
}

/** Nobody here may do less than another, and everybody follows the one document. */
function isFor(to: Audience, id: SessionId): boolean {
  if ('only' in to) return to.only === id;
  return !(('allBut' in to && to.allBut === id) || ('ydocBut' in to && to.ydocBut === id));
}
