/**
 * What a user's last token let them read of a room. Room lists do not tell it of users whose rights are in access tokens, or come from groups,
 * and whoever is to be told of a private thread by mail must be known to read it.
 */
import type { Clock } from '../../../base/clock.ts';
import type { RoomId } from '../../../base/ids.ts';
import { putNewest } from '../../../base/newest.ts';
import { type Query, type Sql, sql } from '../../../kernel/persistence/sql.ts';
import type { Visibility } from '../../../protocol/comments.ts';
import { allows, type Permissions } from '../../../protocol/permissions.ts';

/** The same again within this time costs no write. Another worker may know less for so long. */
const NOTED_FOR_MS = 60_000;
/** Remembered by one worker, the oldest first to be forgotten. */
const NOTED_MAX = 20_000;
/** A token that nobody has shown for so long says nothing any more. */
const KNOWN_DAYS = 30;

interface Note {
  readonly publicly: boolean;
  readonly privately: boolean;
  readonly atMs: number;
}

export class ReaderNotes {
  readonly #db: Sql;
  readonly #clock: Pick<Clock, 'monotonicMs'>;
  readonly #noted = new Map<string, Note>();

  constructor({ db, clock }: { readonly db: Sql; readonly clock: Pick<Clock, 'monotonicMs'> }) {
    this.#db = db;
    this.#clock = clock;
  }

  /** Nothing is noted of a room that is not there. */
  async note(
    userId: string,
    { roomId, permissions }: { readonly roomId: RoomId; readonly permissions: Permissions },
  ): Promise<void> {
    const key = JSON.stringify([roomId, userId]);
    const [publicly, privately] = [
      allows(permissions, 'comments:public', 'read'),
      allows(permissions, 'comments:private', 'read'),
    ];
    const atMs = this.#clock.monotonicMs();
    const known = this.#noted.get(key);
    if (known?.publicly === publicly && known.privately === privately && atMs - known.atMs < NOTED_FOR_MS) return;
    const noted = await this.#db.query(sql`
      insert into room_readers (room_pk, user_id, reads_public, reads_private)
      select pk, ${userId}, ${publicly}, ${privately} from rooms where id = ${roomId} for key share
      on conflict (room_pk, user_id) do update
         set reads_public = excluded.reads_public, reads_private = excluded.reads_private, seen_at = excluded.seen_at
      returning user_id`);
    if (noted.length === 0) return;
    putNewest(this.#noted, key, { publicly, privately, atMs }, NOTED_MAX);
  }
}

/** What is known of `userId`, a column, as to threads of a visibility; null for nothing. */
export function readsOf(
  userId: Query,
  { roomPk, visibility }: { readonly roomPk: number; readonly visibility: Visibility },
): Query {
  const reads = visibility === 'public' ? sql`reads_public` : sql`reads_private`;
  return sql`(select ${reads} from room_readers rr
    where rr.room_pk = ${roomPk} and rr.user_id = ${userId} and rr.seen_at > now() - ${KNOWN_DAYS} * interval '1 day')`;
}
