/** What a REDIS_URL says: where Redis is, of which kind, and with which credentials. It connects to nothing. */
import { StartRefused } from '../base/start-refused.ts';

export interface RedisHost {
  readonly host: string;
  readonly port: number;
}

export interface RedisLogin {
  readonly username: string | null;
  readonly password: string | null;
}

interface RedisAccess extends RedisLogin {
  readonly tls: 'on' | 'off';
}

export type RedisPlace = RedisAccess &
  (
    | { readonly kind: 'single'; readonly host: RedisHost; readonly database: number }
    | {
        readonly kind: 'sentinel';
        readonly sentinels: readonly RedisHost[];
        readonly master: string;
        readonly sentinelLogin: RedisLogin;
      }
    | { readonly kind: 'cluster'; readonly hosts: readonly RedisHost[] }
  );

const REDIS_PORT = 6379;
const SENTINEL_PORT = 26379;
const FORM = /^(rediss?)(?:\+(sentinel|cluster))?:\/\/(?:([^@/?#]*)@)?([^@/?#]+)(?:\/([^/?#]*))?(?:\?([^#]*))?$/;
const HOST = /^(?:\[([0-9a-f:.]+)\]|([\w.-]+))(?::(\d{1,5}))?$/i;

/**
 * Reads `redis://[user:pass@]host[:port][/database]`, `redis+sentinel://[user:pass@]host[:port],…/master` and
 * `redis+cluster://[user:pass@]host[:port],…`; `rediss` instead of `redis` means TLS. The credentials are Redis' own; sentinels that ask
 * for some get theirs from the parameters `sentinelUsername` and `sentinelPassword`.
 *
 * @throws StartRefused with one sentence, which holds no part of the URL: any part may be a badly written password.
 */
export function parseRedisUrl(url: string): RedisPlace {
  const [, scheme, kind, login, hosts, path = '', query = ''] = FORM.exec(url) ?? [];
  if (scheme === undefined || hosts === undefined) {
    throw refused(
      'is no URL like redis://host:6379, redis+sentinel://host:26379,host:26379/master-name or redis+cluster://host:7000,host:7001; what is special in a password is percent-encoded',
    );
  }
  const access: RedisAccess = { tls: scheme === 'rediss' ? 'on' : 'off', ...parseLogin(login) };
  const parameters = parseParameters(query, kind === 'sentinel' ? ['sentinelUsername', 'sentinelPassword'] : []);
  if (kind === 'sentinel') {
    const master = decoded(path);
    if (master === '')
      throw refused('needs the name of the master after the sentinels, as in redis+sentinel://host:26379/master-name');
    return { ...access, kind, sentinels: parseHosts(hosts, SENTINEL_PORT), master, sentinelLogin: sentinelLogin(parameters) };
  }
  if (kind === 'cluster') {
    if (path !== '' && path !== '0') throw refused('names a database, and Redis Cluster has none but 0');
    return { ...access, kind, hosts: parseHosts(hosts, REDIS_PORT) };
  }
  const [host, ...others] = parseHosts(hosts, REDIS_PORT);
  if (others.length > 0) throw refused('names several hosts, which needs redis+sentinel:// or redis+cluster://');
  if (!/^\d{0,4}$/.test(path)) throw refused('ends with a database that is no number');
  return { ...access, kind: 'single', host: host!, database: Number(path) };
}

function parseLogin(text: string | undefined): RedisLogin {
  if (text === undefined) return { username: null, password: null };
  const colon = text.indexOf(':');
  if (colon === -1) throw refused('has a user without a password; a password alone is written redis://:password@host');
  return { username: decoded(text.slice(0, colon)) || null, password: decoded(text.slice(colon + 1)) };
}

function sentinelLogin(parameters: ReadonlyMap<string, string>): RedisLogin {
  const username = parameters.get('sentinelUsername') ?? null;
  const password = parameters.get('sentinelPassword') ?? null;
  if (username !== null && password === null) throw refused('has a sentinelUsername without a sentinelPassword');
  return { username, password };
}

function parseHosts(text: string, defaultPort: number): RedisHost[] {
  return text.split(',').map((each) => {
    const [, address6, name, port = String(defaultPort)] = HOST.exec(each) ?? [];
    const host = address6 ?? name;
    const number = Number(port);
    if (host === undefined || number < 1 || number > 65_535) throw refused('has a host that is not of the form host:port');
    return { host, port: number };
  });
}

function parseParameters(query: string, known: readonly string[]): Map<string, string> {
  const parameters = new Map<string, string>();
  for (const [name, value] of query.split('&').filter(Boolean).map(halves)) {
    if (!known.includes(name)) throw refused(`has a parameter that is unknown here; known: ${known.join(', ') || 'none'}`);
    parameters.set(name, value);
  }
  return parameters;
}

function halves(pair: string): [string, string] {
  const equals = pair.indexOf('=');
  return equals === -1 ? [pair, ''] : [pair.slice(0, equals), decoded(pair.slice(equals + 1))];
}

function decoded(text: string): string {
  try {
    return decodeURIComponent(text);
  } catch {
    throw refused('has a % that begins no percent-encoding; a % itself is written %25');
  }
}

function refused(what: string): StartRefused {
  return new StartRefused(`REDIS_URL ${what}.`);
}
