/**
 * The SQL port: text one could paste into psql, values apart from it.
 *
 * It knows nothing of pools or drivers; `adapters/postgres-sql.ts` serves both modes (a private Postgres in
 * embedded mode, `DATABASE_URL` otherwise).
 */

import { AppError } from '../../base/errors.ts';

/** One statement: text with $1… and its values. `Row` is what a row of its result looks like. */
export interface Query<Row = unknown> {
  readonly text: string;
  readonly values: readonly unknown[];
  /** Set for the few hot statements: each connection then parses and plans the text once. One name, one text. */
  readonly name?: string;
  /** Never set: carries the row type from the statement to its result. */
  readonly row?: Row;
}

/**
 * Values as they come and go: int8 is a number, timestamptz an ISO string in UTC with milliseconds (ready to leave the server), bytea a
 * Uint8Array, jsonb its parsed value. Going in, a Uint8Array is bytea and a JavaScript array an SQL array, so write a jsonb
 * value as `${JSON.stringify(value)}::jsonb`.
 */
export interface Sql {
  /**
   * Runs one statement and returns its rows.
   * @throws AppError DATABASE_UNAVAILABLE when the database cannot be reached, does not answer in time or asks to be tried again; the outcome
   * is then unknown. Its fact `sqlState` is set when the server itself said so.
   * @throws SqlError when the statement was refused for what it says, such as a violated constraint.
   */
  query<Row>(query: Query<Row>): Promise<Row[]>;
  /** Runs one statement that returns nothing, and says how many rows it wrote. Throws as `query` does. */
  change(query: Query): Promise<number>;
  /** Runs `work` in one transaction (READ COMMITTED); a throw rolls it back and is thrown on. Inside a transaction: a savepoint. */
  transaction<Result>(work: (sql: Sql) => Promise<Result>): Promise<Result>;
}

/** The server refused a statement. Queries that expect it ask a predicate; everywhere else it is our bug. */
export class SqlError extends Error {
  /** Five characters, see "PostgreSQL Error Codes". */
  readonly sqlState: string;
  /** Name of the violated constraint, if one was. */
  readonly constraint: string | undefined;

  constructor(message: string, facts: { sqlState: string; constraint: string | undefined; cause: unknown }) {
    super(message, { cause: facts.cause });
    this.name = 'SqlError';
    this.sqlState = facts.sqlState;
    this.constraint = facts.constraint;
  }
}

/** Whether a row with this key is there already; with `constraint`, only for that one. */
export function isUniqueViolation(error: unknown, constraint?: string): boolean {
  return error instanceof SqlError && error.sqlState === '23505' && (constraint === undefined || error.constraint === constraint);
}

/** Whether a value is none that can be stored (class 22): the same statement will be refused again. What breaks a rule of its table may pass, once others are done. */
export function isRefusedForItsData(error: unknown): boolean {
  return error instanceof SqlError && error.sqlState.startsWith('22');
}

/** Whether another transaction held a row for as long as this one may wait: nothing was done. */
export function isLockTimeout(error: unknown): boolean {
  return error instanceof AppError && error.facts.sqlState === '55P03';
}

/** Whether a statement took longer than one may: nothing was done, and half of it may do. */
export function isStatementTimeout(error: unknown): boolean {
  return error instanceof AppError && error.facts.sqlState === '57014';
}

/**
 * Builds a statement: `` sql<Row>`select … where id = ${id}` ``. A `Query` given as a value is spliced in with its own values, so
 * statements compose; everything else becomes a parameter, never text.
 */
export function sql<Row = unknown>(strings: TemplateStringsArray, ...values: unknown[]): Query<Row> {
  let text = strings[0] ?? '';
  const bound: unknown[] = [];
  values.forEach((value, index) => {
    if (isQuery(value)) {
      text += value.text.replace(/\$(\d+)/g, (_, place: string) => `$${Number(place) + bound.length}`);
      bound.push(...value.values);
    } else {
      bound.push(value);
      text += `$${bound.length}`;
    }
    text += strings[index + 1] ?? '';
  });
  return { text, values: bound };
}

/** The statement under a name, for those few that run thousands of times a second. */
export function named<Row>(name: string, query: Query<Row>): Query<Row> {
  return { name, ...query };
}

/** Joins statements' parts with a separator of ours, such as ` and `; nothing of it comes from a client. */
export function joinSql(parts: readonly Query[], separator: ' and ' | ' or ' | ', '): Query {
  if (parts.length === 0) return sql``;
  return parts.reduce((left, right) => ({
    text: left.text + separator + right.text.replace(/\$(\d+)/g, (_, place: string) => `$${Number(place) + left.values.length}`),
    values: [...left.values, ...right.values],
  }));
}

function isQuery(value: unknown): value is Query {
  return typeof value === 'object' && value !== null && 'text' in value && 'values' in value && Array.isArray(value.values);
}
