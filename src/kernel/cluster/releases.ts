/**
 * Gives up what a worker owns. Actors that nobody waits for share a statement with those of a moment later, for thousands may fall asleep together; one whose
 * row somebody holds is given up by itself, and holds up no other.
 */
import type { Clock } from '../../base/clock.ts';
import type { Incarnation } from '../../base/ids.ts';
import { GatherTime } from '../persistence/gather-time.ts';
import { Gathered } from '../persistence/gathered.ts';
import type { Query, Sql } from '../persistence/sql.ts';
import { NUMBERS_PER_CLAIM, type Release } from './ownership.ts';

/** A worker that ends stops more actors side by side than one statement takes: all but the last few do not wait so long. */
const GATHER_MS = 50;
const RELEASES_MAX = 16;
/** More are refused, and stay with this worker's lease. */
const WAITING_MAX = 10_000;

interface ReleasesDeps {
  readonly db: Sql;
  readonly clock: Clock;
  readonly self: Incarnation;
  /** The lease is gone, and with it all that was owned under it. */
  readonly isOver: () => boolean;
}

export class Releases {
  readonly #deps: ReleasesDeps;
  readonly #releases: Gathered<Release, void | Promise<void>>;

  constructor(deps: ReleasesDeps) {
    this.#deps = deps;
    this.#releases = new Gathered({
      itemsMax: RELEASES_MAX,
      waitingMax: WAITING_MAX,
      delay: (begin) => new GatherTime({ clock: deps.clock, ms: GATHER_MS, begin }),
      work: (releases) => this.#releaseAll(releases),
    });
  }

  /** @throws AppError DATABASE_UNAVAILABLE, ROOM_OVERLOADED when too many wait */
  async ask(release: Release): Promise<void> {
    const releasing = this.#releases.ask(release);
    if (release.mayWait !== true) this.#releases.hurry();
    await releasing;
  }

  /** What is not ours any more is told from what is only held by being asked for alone: nobody waits for that here. */
  async #releaseAll(releases: readonly Release[]): Promise<(void | Promise<void>)[]> {
    if (this.#deps.isOver()) return releases.map(() => undefined);
    const isAlone = releases.length === 1;
    const rows = await this.#deps.db.query(releaseQuery(releases, this.#deps.self, isAlone ? 'wait' : 'leave'));
    const released = new Set(rows.map(({ stream }) => stream));
    return releases.map((one) => (isAlone || released.has(one.stream) ? undefined : this.#releaseAlone(one)));
  }

  async #releaseAlone(release: Release): Promise<void> {
    await this.#deps.db.query(releaseQuery([release], this.#deps.self, 'wait'));
  }
}

const RELEASE = { wait: releaseText(''), leave: releaseText('skip locked') };

/** Each under its own epoch: one that has moved on stays as it is. @param locked what to do with a row that somebody holds */
function releaseQuery(
  releases: readonly Release[],
  self: Incarnation,
  locked: keyof typeof RELEASE,
): Query<{ readonly stream: number }> {
  const column = (pick: (one: Release) => number): number[] => releases.map(pick);
  return {
    name: `ownership.release.${locked}`,
    text: RELEASE[locked],
    values: [column(({ stream }) => stream), column(({ epoch }) => epoch), column(({ numbersNext }) => numbersNext), self],
  };
}

/** Rows are looked up by their key and locked in the order of their streams, as in the journal's statement, and for its reasons (`journal-queries.ts`). */
function releaseText(locked: string): string {
  return `
    update actor_owner o
       set owner = null,
           numbers_next = greatest(mine.numbers_next, o.numbers_next - ${NUMBERS_PER_CLAIM})  -- never below the block of this claim
      from (
        select r.stream, r.numbers_next
          from (
            select * from unnest((select $1::bigint[]), (select $2::bigint[]), (select $3::bigint[])) as release (stream, epoch, numbers_next) order by stream
          ) as r
         cross join lateral (
           select from actor_owner a where a.stream = r.stream and a.epoch = r.epoch and a.owner = $4 for no key update ${locked}
         ) as held
      ) as mine
     where o.stream = mine.stream
    returning o.stream`;
}
