/** The SQL port over a few connections to the fake server: what `adapters/postgres-sql.ts` is for the real one, with the same time limits. */
import { AppError } from '../../../src/base/errors.ts';
import type { Query, Sql } from '../../../src/kernel/persistence/sql.ts';
import type { Process } from '../world.ts';
import type { PostgresLink } from './link.ts';
import type { Answer, Session } from './server.ts';

export interface FakeSqlOptions {
  readonly link: PostgresLink;
  /** The worker whose connections these are. */
  readonly process: Process;
  readonly poolMax: number;
  /** After this without an answer the connection counts as dead and the outcome is unknown. */
  readonly answerMsMax: number;
}

const CONNECT_MS_MAX = 5_000;

const away = (reason: string): AppError => new AppError('DATABASE_UNAVAILABLE', { reason });

export class FakeSql implements Sql {
  readonly #options: FakeSqlOptions;
  readonly #idle: Connection[] = [];
  readonly #waiting: { readonly take: (connection: Connection | null) => void }[] = [];
  #open = 0;

  constructor(options: FakeSqlOptions) {
    this.#options = options;
  }

  async query<Row>({ text, values }: Query<Row>): Promise<Row[]> {
    return this.#withConnection((connection) => connection.run<Row>(text, values));
  }

  /** The fake's statements return a row for each that they wrote. */
  async change(query: Query): Promise<number> {
    return (await this.query(query)).length;
  }

  transaction<Result>(work: (sql: Sql) => Promise<Result>): Promise<Result> {
    return this.#withConnection(async (connection) => {
      await connection.run('begin', []);
      try {
        const query = <Row>({ text, values }: Query<Row>): Promise<Row[]> => connection.run<Row>(text, values);
        const change = async (one: Query): Promise<number> => (await query(one)).length;
        const result = await work({ query, change, transaction: () => Promise.reject(new Error('the fake has no savepoints')) });
        await connection.run('commit', []);
        return result;
      } catch (error) {
        if (!connection.isGone) await connection.run('rollback', []);
        throw error;
      }
    });
  }

  async #withConnection<Result>(work: (connection: Connection) => Promise<Result>): Promise<Result> {
    const connection = await this.#acquire();
    try {
      return await work(connection);
    } finally {
      this.#giveBack(connection);
    }
  }

  async #acquire(): Promise<Connection> {
    for (let idle = this.#idle.pop(); idle !== undefined; idle = this.#idle.pop()) {
      if (!idle.isGone) return idle;
      this.#open -= 1;
    }
    if (this.#open < this.#options.poolMax) return this.#connect();
    const given = await this.#turn();
    return given ?? this.#connect();
  }

  /** Somebody else's connection, or null when that broke and there is room for a new one. */
  #turn(): Promise<Connection | null> {
    const { clock } = this.#options.process;
    return new Promise((resolve, reject) => {
      const one = {
        take(connection: Connection | null): void {
          cancel();
          resolve(connection);
        },
      };
      const cancel = clock.after(CONNECT_MS_MAX, () => {
        this.#waiting.splice(this.#waiting.indexOf(one), 1);
        reject(away('no connection is free'));
      });
      this.#waiting.push(one);
    });
  }

  async #connect(): Promise<Connection> {
    this.#open += 1;
    const connection = new Connection(this.#options);
    try {
      await connection.open();
      return connection;
    } catch (error) {
      this.#giveBack(connection);
      throw error;
    }
  }

  #giveBack(connection: Connection): void {
    if (connection.isGone) this.#open -= 1;
    const next = this.#waiting.shift();
    if (next !== undefined) next.take(connection.isGone ? null : connection);
    else if (!connection.isGone) this.#idle.push(connection);
  }
}

/** The worker's end of one connection. One statement at a time. */
class Connection {
  readonly #link: PostgresLink;
  readonly #process: Process;
  readonly #answerMsMax: number;
  readonly #stopListening: () => void;
  #session: Session | null = null;
  #fail: (error: AppError) => void = () => undefined;
  isGone = false;

  constructor({ link, process, answerMsMax }: FakeSqlOptions) {
    this.#link = link;
    this.#process = process;
    this.#answerMsMax = answerMsMax;
    this.#stopListening = link.onReset(() => this.#reset());
  }

  open(): Promise<void> {
    const { server } = this.#link;
    return this.#exchange<void>(CONNECT_MS_MAX, (answer) => {
      if (!server.isUp) return this.#refused();
      this.#session = server.connect(this.#process.name, () => this.#toClient(() => this.#break('the connection was closed')));
      answer({ rows: [] });
    });
  }

  run<Row>(text: string, values: readonly unknown[]): Promise<Row[]> {
    if (this.isGone) return Promise.reject(away('the connection was closed'));
    return this.#exchange<Row[]>(this.#answerMsMax, (answer) => this.#session?.take(text, values, answer));
  }

  #exchange<Result>(msMax: number, atServer: (answer: (answer: Answer) => void) => void): Promise<Result> {
    return new Promise((resolve, reject) => {
      const end = (): void => {
        cancel();
        this.#fail = () => undefined;
      };
      const cancel = this.#process.clock.after(msMax, () => this.#break('no answer in time'));
      this.#fail = (error) => {
        end();
        reject(error);
      };
      const settle = (answer: Answer): void => {
        if (this.isGone) return;
        end();
        if ('error' in answer) reject(answer.error);
        else resolve(answer.rows as Result);
      };
      const arrive = (): void => atServer((answer) => this.#toClient(() => settle(answer)));
      this.#link.toServer({ arrive, isWanted: () => !this.isGone });
      if (!this.#link.server.isUp) this.#refused(); // nobody listens: the host says so at once
    });
  }

  #toClient(arrive: () => void): void {
    this.#link.toClient(this.#process, { arrive, isWanted: () => !this.isGone });
  }

  #refused(): void {
    this.#toClient(() => this.#break('connection refused'));
  }

  /** The client's end is closed, by whatever was found out; the server hears of it when it can. */
  #break(reason: string): void {
    if (this.isGone) return;
    this.isGone = true;
    this.#stopListening();
    this.#fail(away(reason));
    this.#hangUp();
  }

  #reset(): void {
    this.#session?.hangUp();
    this.#process.input(0, () => this.#break('connection reset'));
  }

  #hangUp(): void {
    this.#link.toServer({ arrive: () => this.#session?.hangUp(), isWanted: () => true });
  }
}
