/** What somebody asks of `npm run import`, read from its flags and the environment. */
import { parseArgs } from 'node:util';

export type Origin =
  | { readonly kind: 'server'; readonly url: string; readonly secretKey: string; readonly query: string | null }
  | { readonly kind: 'folder'; readonly path: string };

export interface ImportPlan {
  readonly from: Origin;
  readonly to: { readonly url: string; readonly secretKey: string };
  /** Rooms under way at a time. */
  readonly atOnce: number;
  /** Where it is noted which rooms are done. */
  readonly notesPath: string;
  readonly existing: 'keep' | 'replace';
  readonly afterwards: 'compare' | 'trust';
  /** Of rooms out of a folder, which says nothing of who may enter them. */
  readonly defaultAccesses: readonly string[];
}

export const USAGE = `npm run import -- --from WHERE --to URL [flags]

Brings rooms to a running Atrium: id, metadata, accesses, Storage, Yjs document, threads with their comments, feeds. It can be stopped and run again at any time: what is done is
noted in a file, and what was under way is done once more without harm. Rooms that change meanwhile are read as they are at that moment.

  --from URL         https://api.liveblocks.io, or another server with the same API; its secret key from FROM_SECRET_KEY or --secret
  --from FOLDER      a folder with one file per room, ROOM_ID.yjs (the id URL-encoded): a Yjs document as one update, as Hocuspocus keeps it
  --to URL           the Atrium that gets them; its secret key from SECRET_KEY or --to-secret
  --query TEXT       only rooms that the query language finds, such as 'roomId^"docs:"'
  --at-once N        rooms under way at a time, 1 to 64 [4]
  --notes FILE       what is done [.atrium-import.jsonl]
  --replace          Storage of a room that has some at the target already is replaced; otherwise it is kept, and said so
  --compare          read each room again from both sides and compare Storage and Yjs
  --open             rooms out of a folder may be entered by everybody with the public key; otherwise with tokens only

Not brought over: attachments of comments, notifications, subscriptions, version history, files of Storage, Yjs subdocuments, who is connected.
Exit codes: 0 all rooms are there, 1 some failed (they are listed) or the source could not say which there are (run it again), 2 a flag is wrong.
`;

const AT_ONCE_MAX = 64;
const ADDRESS = /^https?:\/\/[^/\s]+\/?$/;

/** Null when help was asked for. @throws an Error with one sentence when something is missing or wrong. */
export function readImportPlan(
  args: readonly string[],
  environment: Readonly<Record<string, string | undefined>>,
): ImportPlan | null {
  const text = { type: 'string' } as const;
  const flag = { type: 'boolean', default: false } as const;
  const options = { from: text, to: text, secret: text, 'to-secret': text, query: text, 'at-once': text, notes: text };
  const { values } = parsed(() =>
    parseArgs({
      args: [...args],
      options: { ...options, replace: flag, compare: flag, open: flag, help: { type: 'boolean', short: 'h' } },
    }),
  );
  if (values.help === true) return null;
  const atOnce = Number(values['at-once'] ?? '4');
  if (!Number.isInteger(atOnce) || atOnce < 1 || atOnce > AT_ONCE_MAX) throw new Error(`--at-once takes 1 to ${AT_ONCE_MAX}.`);
  const to = needed(values.to, '--to URL says which Atrium gets the rooms');
  if (!ADDRESS.test(to)) throw new Error('--to takes an address such as http://localhost:8080.');
  return {
    from: originOf(values, environment),
    to: {
      url: withoutSlash(to),
      secretKey: needed(values['to-secret'] ?? environment.SECRET_KEY, 'SECRET_KEY is the secret key of the target'),
    },
    atOnce,
    notesPath: values.notes ?? '.atrium-import.jsonl',
    existing: values.replace ? 'replace' : 'keep',
    afterwards: values.compare ? 'compare' : 'trust',
    defaultAccesses: values.open ? ['*:write'] : [],
  };
}

/** Of what the parser says of a flag the first sentence is enough. */
function parsed<Result>(parse: () => Result): Result {
  try {
    return parse();
  } catch (error) {
    const [sentence = ''] = (error as Error).message.split('. ');
    throw new Error(`${sentence.replace(/\.$/, '')}; --help says what there is.`, { cause: error });
  }
}

function originOf(
  { from, secret, query }: { from?: string | undefined; secret?: string | undefined; query?: string | undefined },
  environment: Readonly<Record<string, string | undefined>>,
): Origin {
  const where = needed(from, '--from says where the rooms are');
  if (!/^https?:/.test(where)) return { kind: 'folder', path: where };
  if (!ADDRESS.test(where)) throw new Error('--from takes an address such as https://api.liveblocks.io, or a folder.');
  const secretKey = needed(secret ?? environment.FROM_SECRET_KEY, 'FROM_SECRET_KEY is the secret key of the source');
  return { kind: 'server', url: withoutSlash(where), secretKey, query: query ?? null };
}

function needed(value: string | undefined, sentence: string): string {
  if (value === undefined || value === '') throw new Error(`${sentence}; --help says more.`);
  return value;
}

function withoutSlash(url: string): string {
  return url.replace(/\/$/, '');
}
