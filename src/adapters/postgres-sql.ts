/**
 * SQL over a pool of Postgres connections, in both modes. It knows no tables.
 *
 * Errors fall in two kinds: what the statement says is wrong (`SqlError`), or the database cannot serve it now (DATABASE_UNAVAILABLE), as whenever it
 * lets nobody in, for whatever reason: no statement is at fault then. After the second kind the connection is thrown away unless the server itself spoke, so a half-dead one never serves the next caller.
 */
import pg from 'pg';
import type { Away } from '../base/away.ts';
import { AppError } from '../base/errors.ts';
import type { Log } from '../base/observe.ts';
import { type Query, type Sql, SqlError } from '../kernel/persistence/sql.ts';

export interface PostgresOptions {
  /** postgres://… with the libpq parameters, its `options` too; the timeouts below win over what it says of them. */
  readonly url: string;
  /** Most connections at once; callers beyond wait, at most `connectMsMax`. */
  readonly poolMax: number;
  readonly log: Log;
  /** Hears whether the database is there. */
  readonly health?: Pick<Away, 'answered' | 'failed'>;
  /** A statement that waits this long for a row or advisory lock fails, so one stuck row does not hold a connection for long. */
  readonly lockMsMax?: number;
  readonly statementMsMax?: number;
  readonly connectMsMax?: number;
}

export interface PostgresSql extends Sql {
  /** Waits for what is under way, then closes all connections. */
  close(): Promise<void>;
}

/** A transaction that its worker forgot, or whose worker froze, gives its locks back after this. */
const IDLE_IN_TRANSACTION_MS_MAX = 5_000;
/** How much longer than the server the client waits before it takes the server for dead. */
const ANSWER_GRACE_MS = 1_000;
/**
 * Connections outlive a lull: Postgres takes 1.5 to 2 ms of a core to end one and more to begin one, a dozen of them in a row, and the worker may share that
 * core (bench/FLOORS.md, "neighbours").
 */
const IDLE_MS_MAX = 600_000;

/** Connects lazily: a database that is away shows at the first statement. */
export function openPostgres({
  url,
  poolMax,
  log,
  health = { answered: () => undefined, failed: () => undefined },
  lockMsMax = 1_000,
  statementMsMax = 10_000,
  connectMsMax = 5_000,
}: PostgresOptions): PostgresSql {
  const settings = {
    statement_timeout: statementMsMax,
    lock_timeout: lockMsMax,
    idle_in_transaction_session_timeout: IDLE_IN_TRANSACTION_MS_MAX,
    DateStyle: 'ISO', // what times are read from
    default_transaction_isolation: 'read committed', // the fence of the journal holds in this level only (reliability 2.b)
    tcp_keepalives_idle: 5, // seconds; with the next two, the locks of a host that vanished are free after about 10 s
    tcp_keepalives_interval: 2,
    tcp_keepalives_count: 3,
  };
  const setAll = Object.entries(settings)
    .map(([name, value]) => `set ${name} = '${value}'`)
    .join('; ');
  const pool = new pg.Pool({
    connectionString: url,
    max: poolMax,
    connectionTimeoutMillis: connectMsMax,
    query_timeout: statementMsMax + ANSWER_GRACE_MS,
    idleTimeoutMillis: IDLE_MS_MAX,
    keepAlive: true,
    keepAliveInitialDelayMillis: 5_000,
    application_name: 'atrium',
    // The pool waits for it. As parameters of the start PgBouncer refuses them, and `options` of the URL would take their place.
    onConnect: (client) => client.query(setAll),
    types: { getTypeParser },
  });
  const sql = new PooledSql(pool, health);
  // Whoever uses the connection gets the error too, from its statement; without these listeners Node would end the process.
  pool.on('connect', (client) =>
    client.on('error', (error) => {
      log[pool.ending ? 'debug' : 'warn']({ err: translate(error) }, 'database connection lost');
      sql.lost(client);
    }),
  );
  pool.on('error', (error) => log.debug({ err: error }, 'idle database connection removed'));
  return sql;
}

class PooledSql implements PostgresSql {
  readonly #pool: pg.Pool;
  readonly #health: Pick<Away, 'answered' | 'failed'>;
  /** Free, and not given back to the pool, whose every handing over sets two timers: a journal's commits have one after the other. */
  #kept: pg.PoolClient | null = null;
  readonly #lost = new WeakSet<pg.ClientBase>();

  constructor(pool: pg.Pool, health: Pick<Away, 'answered' | 'failed'>) {
    this.#pool = pool;
    this.#health = health;
  }

  query<Row>(query: Query<Row>): Promise<Row[]> {
    return this.#withClient((client) => run(client, query));
  }

  change(query: Query): Promise<number> {
    return this.#withClient((client) => countOf(client, query));
  }

  transaction<Result>(work: (sql: Sql) => Promise<Result>): Promise<Result> {
    return this.#withClient(async (client) => {
      const transaction = new TransactionSql(client);
      await run(client, { text: 'begin isolation level read committed', values: [] });
      let result: Result;
      try {
        result = await work(transaction);
      } catch (error) {
        transaction.isOver = true;
        // A connection that is gone, or hangs, takes its transaction with it.
        if (isUsableAfter(error)) await run(client, { text: 'rollback', values: [] });
        throw error;
      }
      transaction.isOver = true;
      await commit(client);
      return result;
    });
  }

  close(): Promise<void> {
    this.#takeKept()?.release(); // first: the pool does not wait for what is free to hang up
    return this.#pool.end();
  }

  /** Nobody may get it any more. */
  lost(client: pg.ClientBase): void {
    this.#lost.add(client);
    if (this.#kept === client) this.#takeKept()?.release(true);
  }

  async #withClient<Result>(work: (client: pg.PoolClient) => Promise<Result>): Promise<Result> {
    const client = this.#takeKept() ?? (await this.#connect());
    let isUsable = false;
    try {
      const result = await work(client);
      isUsable = true;
      this.#health.answered();
      return result;
    } catch (error) {
      isUsable = isUsableAfter(error);
      if (isAway(error)) this.#health.failed(error);
      throw error;
    } finally {
      this.#giveBack(client, isUsable ? 'usable' : 'doubtful');
    }
  }

  #takeKept(): pg.PoolClient | null {
    const client = this.#kept;
    this.#kept = null;
    return client;
  }

  #connect(): Promise<pg.PoolClient> {
    return this.#pool.connect().catch((error: unknown) => {
      const unserved = notServed(error);
      if (isAway(unserved)) this.#health.failed(unserved);
      throw unserved;
    });
  }

  /** Who waits at the pool comes first. */
  #giveBack(client: pg.PoolClient, state: 'usable' | 'doubtful'): void {
    const isUsable = state === 'usable' && !this.#lost.has(client);
    const mayKeep = this.#kept === null && this.#pool.waitingCount === 0 && !this.#pool.ending;
    if (isUsable && mayKeep) this.#kept = client;
    else client.release(!isUsable);
  }
}

class TransactionSql implements Sql {
  readonly #client: pg.PoolClient;
  #savepoints = 0;
  isOver = false;

  constructor(client: pg.PoolClient) {
    this.#client = client;
  }

  async query<Row>(query: Query<Row>): Promise<Row[]> {
    this.#mustGoOn();
    return run(this.#client, query);
  }

  async change(query: Query): Promise<number> {
    this.#mustGoOn();
    return countOf(this.#client, query);
  }

  /** By now the connection may carry somebody else's transaction. */
  #mustGoOn(): void {
    if (this.isOver) throw new Error('a statement came after its transaction had ended');
  }

  async transaction<Result>(work: (sql: Sql) => Promise<Result>): Promise<Result> {
    const savepoint = `s${++this.#savepoints}`;
    await this.query({ text: `savepoint ${savepoint}`, values: [] });
    try {
      const result = await work(this);
      await this.query({ text: `release savepoint ${savepoint}`, values: [] });
      return result;
    } catch (error) {
      if (isUsableAfter(error)) await this.query({ text: `rollback to savepoint ${savepoint}`, values: [] });
      throw error;
    }
  }
}

async function run<Row>(client: pg.PoolClient, query: Query<Row>): Promise<Row[]> {
  const { rows } = await resultOf(client, query);
  return rows as Row[];
}

async function countOf(client: pg.PoolClient, query: Query): Promise<number> {
  const { rowCount } = await resultOf(client, query);
  return rowCount ?? 0;
}

/** `values` may be empty: the text may then hold several statements, as migrations do; the result is the last one's. */
async function resultOf(client: pg.PoolClient, { text, values, name }: Query): Promise<pg.QueryResult> {
  const query = { text, values: values.map(asParameter), ...(name === undefined ? {} : { name }) };
  try {
    const result: pg.QueryResult | pg.QueryResult[] = await client.query(query);
    return Array.isArray(result) ? result.at(-1)! : result;
  } catch (error) {
    throw translate(error);
  }
}

/** pg escapes each item of an array with regular expressions, for it may be any text; a column of numbers needs none of that. */
function asParameter(value: unknown): unknown {
  return Array.isArray(value) && value.length > 0 && value.every(Number.isSafeInteger) ? `{${value.join(',')}}` : value;
}

/** Postgres answers COMMIT with ROLLBACK when a statement had failed and `work` went on all the same. */
async function commit(client: pg.PoolClient): Promise<void> {
  const { command } = await client.query('commit').catch((error: unknown) => {
    throw translate(error);
  });
  if (command !== 'COMMIT') throw new Error('a statement failed inside a transaction and its error was swallowed');
}

/** SQL states in which the server is there but cannot serve now; the same statement may succeed later. Classes or whole states. */
const TRY_LATER = ['08', '53', '57', '58', '25006', '25P03', '25P04', '40001', '40P01', '55P03'];
/** Of these, the ones that concern that statement alone. */
const ONE_STATEMENT = ['57014', '40001', '40P01', '55P03'];
/** And the ones that leave the connection whole: cancelled or refused statements. */
const CONNECTION_LIVES = ['53', '58', ...ONE_STATEMENT];

function translate(error: unknown): unknown {
  if (error instanceof pg.DatabaseError && error.code !== undefined && !isOneOf(TRY_LATER, error.code)) {
    const { code: sqlState, constraint, message } = error;
    return new SqlError(message, { sqlState, constraint, cause: error });
  }
  return notServed(error);
}

/** What is told of a failure that no statement is to blame for. */
function notServed(error: unknown): unknown {
  if (error instanceof pg.DatabaseError && error.code !== undefined)
    return unavailable({ sqlState: error.code, reason: error.message });
  if (error instanceof TypeError || error instanceof RangeError) return error; // a value that cannot be sent: our bug
  // What remains comes from the socket: refused, reset, ended, timed out.
  return unavailable({ reason: error instanceof Error ? error.message || error.name : String(error) });
}

function isUsableAfter(error: unknown): boolean {
  if (!(error instanceof AppError) || error.code !== 'DATABASE_UNAVAILABLE') return true;
  return isOneOf(CONNECTION_LIVES, String(error.facts.sqlState));
}

/** What pg says of who waited for a connection while others had all of them. */
const ALL_TAKEN = 'timeout exceeded when trying to connect';

/** What this file made: the work of a transaction may throw the same of another worker. */
const ours = new WeakSet<AppError>();

function unavailable(facts: { readonly sqlState?: string; readonly reason: string }): AppError {
  const error = new AppError('DATABASE_UNAVAILABLE', facts);
  ours.add(error);
  return error;
}

/** Not so where one statement took too long, or met another one, or found no connection free. */
function isAway(error: unknown): boolean {
  if (!(error instanceof AppError && ours.has(error))) return false;
  return error.facts.reason !== ALL_TAKEN && !isOneOf(ONE_STATEMENT, String(error.facts.sqlState));
}

function isOneOf(states: readonly string[], sqlState: string): boolean {
  return states.some((state) => sqlState.startsWith(state));
}

const INT8 = 20;
const TIMESTAMPTZ = 1184;
const parseTimestamp = pg.types.getTypeParser(TIMESTAMPTZ);

/** See `Sql` for the forms; everything not named here as pg has it. */
const getTypeParser: typeof pg.types.getTypeParser = (oid: number, format?: 'text' | 'binary') => {
  if (oid === INT8) return parseInt8;
  if (oid === TIMESTAMPTZ) return (text: string) => parseTimestamp(text).toISOString();
  return pg.types.getTypeParser(oid, format as 'text');
};

function parseInt8(text: string): number {
  const value = Number(text);
  if (!Number.isSafeInteger(value)) throw new RangeError(`the database returned ${text}, too large for a number`);
  return value;
}
