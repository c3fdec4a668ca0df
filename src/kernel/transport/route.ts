/**
 * A route as data: where it answers, what it needs, takes and gives, and the function in between.
 *
 * `api.ts` matches, authenticates and validates before the function runs, and turns what it returns or throws into an answer;
 * `openapi.ts` reads the same data. This module does nothing, it only holds the types together.
 */
import type { Static, TSchema } from 'typebox';
import type { ErrorCode } from '../../base/errors.ts';
import type { RequestKey } from '../../base/ids.ts';
import type { Pieces } from '../../base/pieces.ts';
import type { Sql } from '../persistence/sql.ts';
import type { Need, Principal } from './principal.ts';
import type { HttpRequest } from './server.ts';

export type Method = 'GET' | 'POST' | 'PUT' | 'PATCH' | 'DELETE';

/** Bytes as one array, `application/octet-stream`. @see bytes */
interface BytesBody {
  readonly kind: 'bytes';
  readonly bytesMax: number;
}
/** Bytes as they arrive, `application/octet-stream`. @see stream */
interface StreamBody {
  readonly kind: 'stream';
  readonly bytesMax: number;
}
/** JSON with bounds of its own. */
interface JsonBody<Schema extends TSchema> {
  readonly kind: 'json';
  readonly schema: Schema;
  readonly limits: Partial<JsonLimits>;
}

export interface JsonLimits {
  readonly bytesMax: number;
  /** Objects and arrays within each other. */
  readonly depthMax: number;
  /** Keys of all objects and items of all arrays together. */
  readonly keysMax: number;
}

interface EmptyReply {
  readonly kind: 'empty';
  readonly status: 200 | 204;
}
interface BytesReply {
  readonly kind: 'bytes-reply';
  readonly contentType: string;
}

/** A schema alone means JSON. */
export type BodySpec = TSchema | BytesBody | StreamBody | JsonBody<TSchema>;
export type ReplySpec = TSchema | EmptyReply | BytesReply;

/** A body of bytes up to `bytesMax`, or a reply of bytes of some content type. */
export function bytes(body: { bytesMax: number }): BytesBody;
export function bytes(contentType: string): BytesReply;
export function bytes(of: { bytesMax: number } | string): BytesBody | BytesReply {
  return typeof of === 'string' ? { kind: 'bytes-reply', contentType: of } : { kind: 'bytes', bytesMax: of.bytesMax };
}

/** A body as it arrives: refused before it is read when it announces more than `bytesMax`, and else with the first byte beyond. */
export const stream = ({ bytesMax }: { bytesMax: number }): StreamBody => ({ kind: 'stream', bytesMax });

/** A JSON body whose bounds differ from those of the server. */
export function json<Schema extends TSchema>(schema: Schema, limits: Partial<JsonLimits>): JsonBody<Schema> {
  return { kind: 'json', schema, limits };
}

export const empty = (status: 200 | 204): EmptyReply => ({ kind: 'empty', status });

type BodyOf<Body> = Body extends BytesBody
  ? Uint8Array
  : Body extends StreamBody
    ? AsyncIterable<Uint8Array>
    : Body extends JsonBody<infer Schema>
      ? Static<Schema>
      : Body extends TSchema
        ? Static<Body>
        : undefined;

type ReplyOf<Reply> = Reply extends EmptyReply
  ? // biome-ignore lint/suspicious/noConfusingVoidType: it is the return type of a handler that returns nothing
    void
  : Reply extends BytesReply
    ? Uint8Array | Pieces | AsyncIterable<Uint8Array>
    : Reply extends TSchema
      ? Static<Reply>
      : never;

/** A reply with headers of its own. Made by `withHeaders`. */
export class Dressed<Value> {
  readonly value: Value;
  readonly headers: Readonly<Record<string, string>>;

  constructor(value: Value, headers: Readonly<Record<string, string>>) {
    this.value = value;
    this.headers = headers;
  }
}

/** A JSON reply that is written already: what is asked for often, and changes seldom, is written once. Made by `written`. */
export class Written<Value> {
  readonly text: string;
  /** Only for types. */
  declare readonly value?: Value;

  constructor(text: string) {
    this.text = text;
  }
}

/** `text` as the JSON of `Value`: `return written<Room>(textOf(room))`. */
export function written<Value>(text: string): Written<Value> {
  return new Written(text);
}

/** Adds headers (names in lower case) to what a handler returns: `return withHeaders(room, { 'x-lb-warn': '…' })`. */
export function withHeaders<Value>(value: Value, headers: Readonly<Record<string, string>>): Dressed<Value> {
  return new Dressed(value, headers);
}

export interface Input<Params, Query, Body> {
  readonly params: Params;
  readonly query: Query;
  readonly body: Body;
  readonly principal: Principal;
  /** For what is not in the data: `aborted`, headers. */
  readonly request: HttpRequest;
  /** To be spread into the command for a room, which then knows the request when it comes again. */
  readonly once: { readonly request?: RequestKey };
  /**
   * Runs `task` when what the handler wrote has committed: at once, or at the end of the transaction that was opened around it. The answer
   * waits for its promise, which must not reject.
   */
  afterCommit(task: () => void | Promise<void>): void;
}

/**
 * How a request that comes again under its Idempotency-Key has its effect once.
 *
 * - room: the room remembers it. Without a key of the caller's one is made.
 * - room-if-keyed: only under a caller's key; what passes in a room is not worth a write otherwise.
 * - transaction: the handler's `db` is a transaction that also keeps the answer. For handlers that write to the database alone.
 * - reservation: the key is reserved before, the answer kept after. For handlers that also ask others, and may run twice at the worst.
 */
export type Once = 'room' | 'room-if-keyed' | 'transaction' | 'reservation';

interface RouteFacts {
  readonly method: Method;
  /** Parameters as `:name`. */
  readonly path: `/${string}`;
  /** Older paths with the same parameters. */
  readonly aliases?: readonly `/${string}`[];
  readonly needs: Need;
  /** There is a newer way; the summary names it. */
  readonly deprecated?: true;
  readonly summary: string;
  /** Heading in the OpenAPI document. */
  readonly tag: string;
  /** How it refuses what is well formed; how it refuses what is not follows from the data here. */
  readonly refuses?: readonly ErrorCode[];
  /** Left out where repeating changes nothing. */
  readonly once?: Once;
}

type Outcome<Value> = Value | Dressed<Value> | Written<Value>;
type Value<Schema> = Schema extends TSchema ? Static<Schema> : Readonly<Record<string, never>>;

export interface Route<Deps, Params, Query, Body, Reply> extends RouteFacts {
  /** An object schema; integers are read from the text. Absent where the path has none. */
  readonly params?: Params;
  /**
   * An object schema. Integers, numbers and booleans are read from the text, `?flag` alone is true, defaults are filled in. Parameters
   * it does not name are ignored, unless it says `additionalProperties`: then they are handed on as text.
   */
  readonly query?: Query;
  /** Absent: a body that is sent anyway is not read. */
  readonly body?: Body;
  readonly reply: Reply;
  /** Asked of large bodies, before they are read and before they are parsed: throws what the request would be refused with, whatever they say. */
  mustTake?(params: Value<Params>, deps: Deps): void;
  handle(
    input: Input<Value<Params>, Value<Query>, BodyOf<Body>>,
    deps: Deps,
  ): Promise<Outcome<ReplyOf<Reply>>> | Outcome<ReplyOf<Reply>>;
}

/** `routeFor<Deps>()({ … })`: the handler's input and reply are typed by the schemas beside it. */
export function routeFor<Deps>() {
  return <
    Params extends TSchema | undefined = undefined,
    Query extends TSchema | undefined = undefined,
    Body extends BodySpec | undefined = undefined,
    Reply extends ReplySpec = ReplySpec,
  >(
    route: Route<Deps, Params, Query, Body, Reply>,
  ): Route<Deps, Params, Query, Body, Reply> => route;
}

/** A route with its dependencies inside: what the table holds. */
export interface BoundRoute extends RouteFacts {
  readonly params?: TSchema | undefined;
  readonly query?: TSchema | undefined;
  readonly body?: BodySpec | undefined;
  readonly reply: ReplySpec;
  /** As of the route. */
  mustTake?(params: unknown): void;
  /** `input` must have been validated against the schemas above; `db` takes the place of the one it was bound with. */
  run(input: Input<unknown, unknown, unknown>, db?: Sql): unknown;
}

export function bindRoute<
  Deps,
  Params extends TSchema | undefined,
  Query extends TSchema | undefined,
  Body extends BodySpec | undefined,
  Reply extends ReplySpec,
>(route: Route<Deps, Params, Query, Body, Reply>, deps: Deps): BoundRoute {
  type Checked = Input<Value<Params>, Value<Query>, BodyOf<Body>>;
  return {
    ...route,
    mustTake: (params) => route.mustTake?.(params as Value<Params>, deps),
    run: (input, db) => route.handle(input as Checked, db === undefined ? deps : { ...deps, db }),
  };
}
