/**
 * A room that is deleted and made anew, again and again, and somebody who edits and reads it: nothing of a room outlives it. What is sent while
 * it is being deleted may be in the old room, in the new one, or in none.
 */
import { asRoomId } from '../../src/base/ids.ts';
import { type Pieces, textIn } from '../../src/base/pieces.ts';
import { deleteRoom, findOrCreateRoom, roomOnEntry } from '../../src/features/rooms/queries.ts';
import { LEASE } from '../../src/kernel/cluster/lease.ts';
import { anyLife, pause, READ, RestClient, type Scene } from './clients.ts';
import type { Life } from './workers.ts';

const ROOM = asRoomId('green');
/** Its owner has heard of a deletion by then, or may not answer any more. */
const HEARD_MS = LEASE.lastsMs + LEASE.graceMs;
const PATIENCE_MS = HEARD_MS + 3_000;

/** One life of the room, as far as its clients know. */
interface Tenancy {
  readonly acked: Set<string>;
  state: 'open' | 'ending' | 'over';
}

export class Landlord {
  readonly #scene: Scene;
  readonly #client: RestClient;
  readonly #tenancies: Tenancy[] = [];

  constructor(scene: Scene) {
    this.#scene = scene;
    this.#client = new RestClient(scene, 4_000_000, ['ROOM_NOT_FOUND']);
  }

  /** Ends with the room open. */
  async run(): Promise<void> {
    const { world } = this.#scene;
    for (const client of [1, 2]) void this.#visit(client);
    for (;;) {
      await this.#insist((life) => this.#make(life));
      const tenancy: Tenancy = { acked: new Set(), state: 'open' };
      this.#tenancies.push(tenancy);
      await pause(world, 100 + world.dice.fraction() * 2_500);
      if (this.#scene.isSettling) return;
      tenancy.state = 'ending';
      const attempts = await this.#insist((life) => this.#delete(life));
      if (attempts > 1) await pause(world, HEARD_MS); // an earlier one may have done it and told nobody
      tenancy.state = 'over';
    }
  }

  /** What a new process finds. */
  async judge(): Promise<void> {
    for (let isSeen = false; !isSeen; ) isSeen = await this.#read(this.#client);
  }

  async #make({ db }: Life): Promise<void> {
    await findOrCreateRoom(db, roomOnEntry({ roomId: ROOM, organizationId: 'default', nowIso: 'now' }));
  }

  /** As the route does. */
  async #delete({ db, worker }: Life): Promise<void> {
    const gone = await deleteRoom(db, ROOM);
    if (gone !== null) await worker!.door.close(ROOM, { at: gone.ownerAt, code: 'ROOM_NOT_FOUND', facts: {} });
  }

  /** Until it is known to be done; returns how often it was tried. */
  async #insist(work: (life: Life) => Promise<void>): Promise<number> {
    const { world, cluster } = this.#scene;
    for (let attempts = 1; ; attempts += 1) {
      const life = anyLife(cluster);
      const isDone = life !== null && (await this.#isDone(life, work));
      if (isDone) return attempts;
      await pause(world, 100);
    }
  }

  /** False when it failed, or nothing was heard of it. */
  #isDone(life: Life, work: (life: Life) => Promise<void>): Promise<boolean> {
    const { world } = this.#scene;
    return new Promise((resolve) => {
      const cancel = world.after(PATIENCE_MS, () => resolve(false));
      const ended = (is: boolean): void => {
        cancel();
        resolve(is);
      };
      life.process
        .enter(() => work(life))
        .then(
          () => ended(true),
          () => ended(false),
        );
    });
  }

  async #visit(number: number): Promise<void> {
    const { world } = this.#scene;
    const client = new RestClient(this.#scene, 4_000_000 + number, ['ROOM_NOT_FOUND']);
    while (!this.#scene.isSettling) {
      await pause(world, world.dice.fraction() * 400);
      if (world.dice.chance(0.5)) await this.#write(client);
      else await this.#read(client);
    }
  }

  async #write(client: RestClient): Promise<void> {
    const tenancy = this.#tenancies.at(-1);
    if (tenancy?.state !== 'open') return;
    const token = this.#scene.newToken();
    const outcome = await client.attempt(ROOM, {
      type: 'storage.patch',
      operations: [{ op: 'add', path: `/${token}`, value: token }],
    });
    if (outcome.is === 'answer' && tenancy.state === 'open') tenancy.acked.add(token);
  }

  /** Returns whether it was answered. */
  async #read(client: RestClient): Promise<boolean> {
    const { audit } = this.#scene;
    const gone = this.#tenancies.filter(({ state }) => state === 'over').flatMap(({ acked }) => [...acked]);
    const open = this.#tenancies.at(-1);
    const known = open?.state === 'open' ? [...open.acked] : [];
    const outcome = await client.attempt(ROOM, READ);
    if (outcome.is === 'silence' || (outcome.is === 'refusal' && outcome.error.code !== 'ROOM_NOT_FOUND')) return false;
    const found = new Set(outcome.is === 'answer' ? Object.keys(JSON.parse(textIn(outcome.value as Pieces)) as object) : []);
    if (audit.mayReadsBeStale) return true;
    for (const token of gone) if (found.has(token)) audit.broken('C14 what was deleted is gone', `${token} of ${ROOM} is back`);
    for (const token of known)
      if (open!.state === 'open' && !found.has(token))
        audit.broken('C6 a read shows what was known before it began', `${token} of ${ROOM} was not shown`);
    return true;
  }
}
