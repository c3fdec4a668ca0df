/** A request's body by what its route asks for: JSON in bounds, bytes, or a stream of them; anything of another kind is a 415. */
import type { TSchema } from 'typebox';
import { AppError, missingKey } from '../../base/errors.ts';
import type { Json } from '../../base/json.ts';
import { parseJson } from './json-body.ts';
import type { BodySpec, JsonLimits } from './route.ts';
import type { HttpRequest } from './server.ts';
import { makeCheck } from './validate.ts';

export type ReadBody = (request: HttpRequest) => Promise<unknown>;

/** Content types that may carry a value for a schema. No type at all and text/plain are JSON whose sender did not bother to say so. */
const VALUE_TYPES: readonly { readonly pattern: RegExp; parse(bytes: Uint8Array, limits: JsonLimits): Json }[] = [
  { pattern: /^(?:application\/(?:[\w.-]+\+)?json|text\/plain|)$/, parse: parseJson },
];
const BYTES_TYPE = 'application/octet-stream';

export function makeBodyReader(spec: BodySpec | undefined, defaults: JsonLimits): ReadBody {
  if (spec === undefined) return async () => undefined;
  if (!('kind' in spec)) return valueReader(spec, defaults);
  switch (spec.kind) {
    case 'json':
      return valueReader(spec.schema, { ...defaults, ...spec.limits });
    case 'bytes':
      return async (request) => {
        requireBytes(request);
        return request.body(spec.bytesMax);
      };
    case 'stream':
      return async (request) => {
        requireBytes(request);
        return request.stream();
      };
    default:
      return spec satisfies never;
  }
}

function valueReader(schema: TSchema, limits: JsonLimits): ReadBody {
  const check = makeCheck(schema, 'The body');
  const { required } = schema as { required?: readonly string[] };
  return async (request) => {
    const contentType = contentTypeOf(request);
    const type = VALUE_TYPES.find(({ pattern }) => pattern.test(contentType));
    if (type === undefined) throw unsupported(contentType, 'application/json');
    const bytes = await request.body(limits.bytesMax);
    if (bytes.byteLength === 0) {
      throw required?.[0] === undefined
        ? new AppError('UNPROCESSABLE_ENTITY', { reason: 'The body is missing' })
        : missingKey(required[0]);
    }
    return check(type.parse(bytes, limits));
  };
}

function requireBytes(request: HttpRequest): void {
  const contentType = contentTypeOf(request);
  if (contentType !== '' && contentType !== BYTES_TYPE) throw unsupported(contentType, BYTES_TYPE);
}

/** Without parameters, in lower case. @throws AppError UNSUPPORTED_MEDIA_TYPE when it is packed: nobody here unpacks. */
function contentTypeOf({ headers }: HttpRequest): string {
  const encoding = headers['content-encoding'] ?? 'identity';
  if (encoding.toLowerCase() !== 'identity') throw unsupported(`content-encoding: ${encoding}`, 'content-encoding: identity');
  return (headers['content-type'] ?? '').split(';')[0]!.trim().toLowerCase();
}

function unsupported(contentType: string, accepted: string): AppError {
  return new AppError('UNSUPPORTED_MEDIA_TYPE', { contentType, accepted });
}
