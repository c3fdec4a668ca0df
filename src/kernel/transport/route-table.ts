/** Which route answers a method and a path. It knows patterns, not what routes do. */
import FindMyWay from 'find-my-way';
import { AppError, valueAtKey } from '../../base/errors.ts';
import { isPercentEncoded } from './query-string.ts';
import type { Method } from './route.ts';

const METHODS: readonly Method[] = ['GET', 'POST', 'PUT', 'PATCH', 'DELETE'];

export interface Match<Entry> {
  readonly entry: Entry;
  /** Decoded once: `%2F` is a slash inside its segment, `%252F` is the text `%2F`. */
  readonly params: Readonly<Record<string, string>>;
}

export class RouteTable<Entry> {
  /** The router's own bound on a parameter would hide a long room id as a 404; the header limit bounds the whole path already. */
  readonly #router = FindMyWay({ maxParamLength: Number.MAX_SAFE_INTEGER });

  /** @throws an Error when the place is taken: two routes for one request are a bug that must not start. */
  add(method: Method, path: string, entry: Entry): void {
    this.#router.on(method, path, noHandler, entry);
  }

  /**
   * HEAD is answered by the route for GET.
   * @throws AppError NOT_FOUND, METHOD_NOT_ALLOWED, or UNPROCESSABLE_ENTITY when the path is no valid percent-encoding.
   */
  match(method: string, path: string): Match<Entry> {
    if (!isPercentEncoded(path)) throw valueAtKey('path', 'is not valid percent-encoding');
    const found = this.#find(method === 'HEAD' ? 'GET' : method, path);
    if (found !== null) return found;
    const allowed = METHODS.filter((other) => this.#find(other, path) !== null);
    const facts = { method, path: path.slice(0, SHOWN_LENGTH_MAX) };
    if (allowed.length === 0) throw new AppError('NOT_FOUND', facts);
    throw new AppError('METHOD_NOT_ALLOWED', { ...facts, allow: allowed.join(', ') });
  }

  #find(method: string, path: string): Match<Entry> | null {
    const found = this.#router.find(method as Method, path); // for a method it does not know it finds nothing
    return found === null ? null : { entry: found.store as Entry, params: found.params as Record<string, string> };
  }
}

/** A message repeats so much of a path. */
const SHOWN_LENGTH_MAX = 200;

/** The router wants a function for each route; ours are in the entries. */
const noHandler = (): void => undefined;
