/**
 * What the relay writes down when a case asks for it: all that waits as one row in one statement, with one commit under way. Less than this keeps no
 * promise, and it is less than a server needs: no fence, no order, nothing that could be read back room by room.
 */
import { startEmbeddedPostgres } from '../../src/adapters/embedded-postgres.ts';
import { openPostgres } from '../../src/adapters/postgres-sql.ts';
import { systemClock, systemRandom } from '../../src/base/clock.ts';
import { silentLog } from '../../src/base/observe.ts';
import { named, type Sql, sql } from '../../src/kernel/persistence/sql.ts';

/** As long as a Yjs update stays out of our journal when nobody waits for it. */
const BEAT_MS = 100;

export class Commits {
  readonly #db: Sql;
  readonly #close: () => Promise<void>;
  #bytes: Uint8Array[] = [];
  #waiting: (() => void)[] = [];
  #isUnderWay = false;
  #isAtBeat = false;

  private constructor(db: Sql, close: () => Promise<void>) {
    this.#db = db;
    this.#close = close;
  }

  /** Starts a private Postgres, as Atrium does, on an empty directory. */
  static async open(dataDir: string): Promise<Commits> {
    const onExit = (reason: string): never => {
      throw new Error(reason);
    };
    const postgres = await startEmbeddedPostgres({ dataDir, clock: systemClock, random: systemRandom, log: silentLog, onExit });
    const db = openPostgres({ url: postgres.url, poolMax: 1, log: silentLog });
    await db.query(sql`create table writes (at bigint generated always as identity primary key, bytes bytea not null)`);
    return new Commits(db, () => db.close().then(() => postgres.stop()));
  }

  close(): Promise<void> {
    return this.#close();
  }

  /** Calls `done` when it is in Postgres. */
  write(bytes: Uint8Array, done: () => void): void {
    this.#bytes.push(bytes);
    this.#waiting.push(done);
    if (!this.#isUnderWay) void this.#run();
  }

  /** The same for what nobody waits for. */
  writeLater(bytes: Uint8Array): void {
    this.#bytes.push(bytes);
    if (this.#isAtBeat) return;
    this.#isAtBeat = true;
    setTimeout(() => {
      this.#isAtBeat = false;
      if (!this.#isUnderWay) void this.#run();
    }, BEAT_MS);
  }

  async #run(): Promise<void> {
    this.#isUnderWay = true;
    await null; // what the rest of this turn writes still joins
    while (this.#waiting.length > 0 || (this.#bytes.length > 0 && !this.#isAtBeat)) {
      const [bytes, waiting] = [this.#bytes, this.#waiting];
      this.#bytes = [];
      this.#waiting = [];
      await this.#db.query(named('bench.write', sql`insert into writes (bytes) values (${Buffer.concat(bytes)})`));
      for (const done of waiting) done();
    }
    this.#isUnderWay = false;
  }
}
