/** A request's body by what its route asks for: JSON (or a form) in bounds, bytes, or a stream of them; anything of another kind is a 415. */
import type { TSchema } from 'typebox';
import { AppError, missingKey } from '../../base/errors.ts';
import type { Json } from '../../base/json.ts';
import type { OnePerTurn } from '../../base/one-per-turn.ts';
import { parseForm, takesForm } from './form-body.ts';
import { parseJson } from './json-body.ts';
import type { BodySpec, JsonLimits } from './route.ts';
import type { HttpRequest } from './server.ts';
import { makeCheck } from './validate.ts';

export interface BodyRead {
  readonly value: unknown;
  /** As they came; none of a stream, or where the route reads none. */
  readonly bytes: Uint8Array;
}

/** `mustTake` is asked of large bodies, before they are read and before they are parsed, and throws when they need not be. */
export type ReadBody = (request: HttpRequest, mustTake: () => void) => Promise<BodyRead>;

const NO_BYTES = new Uint8Array();

/** How a value for a schema may travel. No type at all and text/plain are JSON whose sender did not bother to say so. */
interface ValueType {
  readonly name: string;
  readonly pattern: RegExp;
  parse(bytes: Uint8Array, limits: JsonLimits, schema: TSchema): Json;
}
const JSON_TYPE: ValueType = {
  name: 'application/json',
  pattern: /^(?:application\/(?:[\w.-]+\+)?json|text\/plain|)$/,
  parse: parseJson,
};
const FORM_TYPE: ValueType = {
  name: 'application/x-www-form-urlencoded',
  pattern: /^application\/x-www-form-urlencoded$/,
  parse: parseForm,
};
const BYTES_TYPE = 'application/octet-stream';

/** To parse and decide a body above this takes a millisecond and more: the next one has to wait for its turn. */
const LARGE_BYTES = 16 * 1024;

/** Large bodies that wait for their turn; each is held in memory. */
export const LARGE_ONES_MAX = 500;

export interface BodyRules {
  readonly limits: JsonLimits;
  /** Shared by all routes of a server. */
  readonly largeOnes: OnePerTurn;
}

export function makeBodyReader(spec: BodySpec | undefined, rules: BodyRules): ReadBody {
  if (spec === undefined) return async () => ({ value: undefined, bytes: NO_BYTES });
  if (!('kind' in spec)) return valueReader(spec, rules);
  switch (spec.kind) {
    case 'json':
      return valueReader(spec.schema, { ...rules, limits: { ...rules.limits, ...spec.limits } });
    case 'bytes':
      return async (request, mustTake) => {
        requireBytes(request);
        const bytes = await wholeBody(request, { ...rules, mustTake, bytesMax: spec.bytesMax });
        return { value: bytes, bytes };
      };
    case 'stream':
      return async (request) => {
        requireBytes(request);
        return { value: boundedStream(request, spec.bytesMax), bytes: NO_BYTES };
      };
    default:
      return spec satisfies never;
  }
}

interface Reading extends Pick<BodyRules, 'largeOnes'> {
  readonly bytesMax: number;
  readonly mustTake: () => void;
}

async function wholeBody(request: HttpRequest, { bytesMax, largeOnes, mustTake }: Reading): Promise<Uint8Array> {
  if (Number(request.headers['content-length'] ?? 0) > LARGE_BYTES) mustTake();
  const bytes = await request.body(bytesMax);
  if (bytes.byteLength > LARGE_BYTES) {
    await largeOnes.wait();
    mustTake();
  }
  return bytes;
}

function valueReader(schema: TSchema, rules: BodyRules): ReadBody {
  const { limits, largeOnes } = rules;
  const { bytesMax } = limits;
  const check = makeCheck(schema, 'The body');
  const { required, default: whenAbsent } = schema as { required?: readonly string[]; default?: unknown };
  const types = takesForm(schema) ? [JSON_TYPE, FORM_TYPE] : [JSON_TYPE];
  return async (request, mustTake) => {
    const contentType = contentTypeOf(request);
    const type = contentType === JSON_TYPE.name ? JSON_TYPE : types.find(({ pattern }) => pattern.test(contentType));
    if (type === undefined) throw unsupported(contentType, types.map(({ name }) => name).join(' or '));
    const bytes = await wholeBody(request, { bytesMax, largeOnes, mustTake });
    if (bytes.byteLength === 0) {
      if (whenAbsent !== undefined) return { value: whenAbsent, bytes };
      throw required?.[0] === undefined
        ? new AppError('UNPROCESSABLE_ENTITY', { reason: 'The body is missing' })
        : missingKey(required[0]);
    }
    return { value: check(type.parse(bytes, limits, schema)), bytes };
  };
}

/** The body as it arrives, while it fits. @throws AppError PAYLOAD_TOO_LARGE at once when it announces more, else from the stream. */
function boundedStream(request: HttpRequest, bytesMax: number): AsyncIterable<Uint8Array> {
  const tooLarge = (): AppError => new AppError('PAYLOAD_TOO_LARGE', { bytesMax });
  if (Number(request.headers['content-length'] ?? 0) > bytesMax) throw tooLarge();
  return (async function* () {
    let came = 0;
    for await (const piece of request.stream()) {
      came += piece.byteLength;
      if (came > bytesMax) throw tooLarge();
      yield piece;
    }
  })();
}

function requireBytes(request: HttpRequest): void {
  const contentType = contentTypeOf(request);
  if (contentType !== '' && contentType !== BYTES_TYPE) throw unsupported(contentType, BYTES_TYPE);
}

/** Without parameters, in lower case. @throws AppError UNSUPPORTED_MEDIA_TYPE when it is packed: nobody here unpacks. */
function contentTypeOf({ headers }: HttpRequest): string {
  const { 'content-encoding': encoding, 'content-type': type = '' } = headers;
  if (encoding !== undefined && encoding.toLowerCase() !== 'identity')
    throw unsupported(`content-encoding: ${encoding}`, 'content-encoding: identity');
  return type === JSON_TYPE.name ? type : type.split(';')[0]!.trim().toLowerCase();
}

function unsupported(contentType: string, accepted: string): AppError {
  return new AppError('UNSUPPORTED_MEDIA_TYPE', { contentType, accepted });
}
