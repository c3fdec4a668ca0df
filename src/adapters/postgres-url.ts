/** Looks whether DATABASE_URL can be read at all, before anything connects. `pg` reads it anew for each connection, and throws where nobody expects it. */
import pg from 'pg';
import { StartRefused } from '../base/start-refused.ts';

const PORT_MAX = 65_535;
const FORM =
  'is no URL of the form postgres://user:password@host:5432/database; what is special in a password, such as / # @ %, is percent-encoded';

/**
 * Connects to nothing, and reads the files of certificates that the URL names.
 * @throws StartRefused with one sentence, which holds no part of the URL but the name of a file: any other may be a badly written password.
 */
export function mustReadPostgresUrl(url: string): void {
  const { port } = clientOf(url);
  if (!(port > 0 && port <= PORT_MAX)) throw refused(FORM);
}

function clientOf(url: string): pg.Client {
  try {
    return new pg.Client({ connectionString: url });
  } catch (error) {
    const { path, code, syscall } = error as NodeJS.ErrnoException;
    const file = path === undefined ? 'a file' : `the file ${path}`; // to read a folder is an error that does not say which
    if (syscall !== undefined) throw refused(`names ${file}, which cannot be read (${code}): correct the path, or put it there`);
    const isNoUrl = error instanceof TypeError || error instanceof URIError;
    throw refused(isNoUrl ? FORM : 'has parameters after its ? that do not go together, or have values that there are not');
  }
}

function refused(what: string): StartRefused {
  return new StartRefused(`DATABASE_URL ${what}.`);
}
