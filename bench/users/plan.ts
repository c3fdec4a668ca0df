/** What somebody asks of `npm run load`, read from its flags. */
import { parseArgs } from 'node:util';

export type Work = 'storage' | 'presence' | 'yjs';

export interface Plan {
  readonly rooms: number;
  /** In each room. */
  readonly clients: number;
  /** Messages a second from each client. */
  readonly rate: number;
  readonly seconds: number;
  readonly work: Work;
  /** Null: a server is started for the run. */
  readonly url: string | null;
  readonly afterwards: 'delete rooms' | 'keep rooms';
  readonly limits: Limits;
}

/** More than any of these, and the run has failed. */
export interface Limits {
  readonly p50Ms: number;
  readonly p99Ms: number;
  /** Messages that never reached somebody they had to reach. */
  readonly lost: number;
  /** Sockets that the server closed. */
  readonly closed: number;
}

export const USAGE = `npm run load -- [flags]

Fills rooms with clients that speak at a steady rate, and measures how long their messages take to everybody who must get them.

  --rooms N          rooms [100]
  --clients N        in each room, 2 to 999 [2]
  --rate N           messages a second from each client [2]
  --minutes N        how long it is measured, fractions too [1]
  --work WHAT        storage: ops, acknowledged when they are in Postgres; presence: moving cursors; yjs: typing [storage]
  --url URL          a server that runs; its keys from SECRET_KEY and PUBLIC_KEY. Without it one is started, on fresh data
  --keep             leave the rooms when it is over

  --p50-ms-max N     longest median in milliseconds, of acknowledgements (storage), else of arrivals at others [none]
  --p99-ms-max N     the same for 99 of 100 [none]
  --lost-max N       messages that did not arrive [0]
  --closed-max N     sockets that the server closed [0]

Exit codes: 0 within the limits, 1 not, 2 the load could not be made or a flag is wrong, 130 interrupted.
`;

const MINUTES_MAX = 240;
const CLIENTS_PER_ROOM_MAX = 999;
const ROOMS_MAX = 100_000;
const RATE_MAX = 100;

/** Null when help was asked for. @throws an Error naming the flag that is wrong. */
export function readPlan(args: readonly string[]): Plan | null {
  const text = { type: 'string' } as const;
  const { values } = parseArgs({
    args: [...args],
    options: {
      rooms: text,
      clients: text,
      rate: text,
      minutes: text,
      work: text,
      url: text,
      keep: { type: 'boolean' },
      help: { type: 'boolean', short: 'h' },
      'p50-ms-max': text,
      'p99-ms-max': text,
      'lost-max': text,
      'closed-max': text,
    },
  });
  if (values.help === true) return null;
  const work = values.work ?? 'storage';
  if (work !== 'storage' && work !== 'presence' && work !== 'yjs')
    throw new Error(`--work takes storage, presence or yjs, not ${work}`);
  if (values.url !== undefined && !/^https?:\/\/[^/\s]+\/?$/.test(values.url))
    throw new Error('--url takes an address such as http://localhost:8080');
  const none = Number.POSITIVE_INFINITY;
  return {
    rooms: whole('--rooms', values.rooms, { fallback: 100, from: 1, to: ROOMS_MAX }),
    clients: whole('--clients', values.clients, { fallback: 2, from: 2, to: CLIENTS_PER_ROOM_MAX }),
    rate: number('--rate', values.rate, { fallback: 2, from: 0.01, to: RATE_MAX }),
    seconds: number('--minutes', values.minutes, { fallback: 1, from: 0.01, to: MINUTES_MAX }) * 60,
    work,
    url: values.url ?? null,
    afterwards: values.keep === true ? 'keep rooms' : 'delete rooms',
    limits: {
      p50Ms: number('--p50-ms-max', values['p50-ms-max'], { fallback: none, from: 0, to: none }),
      p99Ms: number('--p99-ms-max', values['p99-ms-max'], { fallback: none, from: 0, to: none }),
      lost: whole('--lost-max', values['lost-max'], { fallback: 0, from: 0, to: none }),
      closed: whole('--closed-max', values['closed-max'], { fallback: 0, from: 0, to: none }),
    },
  };
}

interface Range {
  readonly fallback: number;
  readonly from: number;
  readonly to: number;
}

function number(flag: string, given: string | undefined, { fallback, from, to }: Range): number {
  if (given === undefined) return fallback;
  const value = given.trim() === '' ? Number.NaN : Number(given);
  if (!(value >= from && value <= to)) throw new Error(`${flag} takes a number from ${from} to ${to}, not ${given}`);
  return value;
}

function whole(flag: string, given: string | undefined, range: Range): number {
  const value = number(flag, given, range);
  if (!Number.isInteger(value)) throw new Error(`${flag} takes a whole number, not ${given}`);
  return value;
}
