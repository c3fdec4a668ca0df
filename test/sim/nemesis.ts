/** What goes wrong: faults begin and end by the dice, several at a time, and `heal` ends them all. */
import { asIncarnation, asRoomId, asWorkerAddress } from '../../src/base/ids.ts';
import { moveRoom } from '../../src/features/rooms/queries.ts';
import type { Dice } from '../fuzz/dice.ts';
import type { Audit } from './audit.ts';
import { type Cluster, FAIR, type Machine } from './workers.ts';
import type { World } from './world.ts';

type Weights = Readonly<Record<Fault, number>>;
export type Fault =
  | 'pause'
  | 'stand still'
  | 'crash'
  | 'cut from database'
  | 'part workers'
  | 'isolate'
  | 'stop database'
  | 'freeze database'
  | 'end sessions'
  | 'stuck commits'
  | 'slow network'
  | 'forget hints'
  | 'false hints'
  | 'directory away'
  | 'drain'
  | 'move room';

const NONE: Weights = {
  pause: 0,
  'stand still': 0,
  crash: 0,
  'cut from database': 0,
  'part workers': 0,
  isolate: 0,
  'stop database': 0,
  'freeze database': 0,
  'end sessions': 0,
  'stuck commits': 0,
  'slow network': 0,
  'forget hints': 0,
  'false hints': 0,
  'directory away': 0,
  drain: 0,
  'move room': 0,
};

export function isFault(name: string): name is Fault {
  return name in NONE;
}

/** All that a day brings, though not in one day. */
const MIXED: Weights = {
  ...NONE,
  pause: 5,
  crash: 4,
  'cut from database': 5,
  'part workers': 3,
  isolate: 2,
  'stop database': 1.5,
  'freeze database': 1.5,
  'end sessions': 2,
  'stuck commits': 2,
  'slow network': 1,
  'forget hints': 2,
  'false hints': 1,
  'directory away': 1,
  drain: 2,
  'move room': 2,
};

/** Owners that are taken for dead, and live. */
const ZOMBIES: Weights = {
  ...NONE,
  pause: 5,
  isolate: 5,
  'cut from database': 2,
  'stop database': 1,
  'stuck commits': 2,
  'end sessions': 1,
  'move room': 1,
};

/** The same on machines whose clocks stop with them. */
const STANDSTILL: Weights = { ...ZOMBIES, pause: 0, 'stand still': 6 };

interface Plan {
  readonly faults: Weights;
  /** Between two faults, at most. */
  readonly everyMs: number;
  /** How often a fault lasts about as long as a lease, or longer. */
  readonly longShare: number;
  /** Whether a fault is nearly over before the next begins: time for others to take what the victim had. */
  readonly isPatient: boolean;
  /** Whether it strikes owners more than others. */
  readonly seeksOwners: boolean;
}

/** A supervisor that takes silence for proof waits no longer. */
const HASTY_MS = 1_000;

/** These are over at once, or end by themselves. */
const MOMENTARY: ReadonlySet<Fault> = new Set<Fault>(['crash', 'end sessions', 'forget hints', 'drain', 'move room']);

/** A process that is silent for so long is taken for gone by its peers. */
const SILENT_MS = 3_000;

export class Nemesis {
  readonly #cluster: Cluster;
  readonly #audit: Audit;
  readonly #world: World;
  readonly #dice: Dice;
  readonly #plan: Plan | null;
  readonly #repairs = new Set<() => void>();
  #isOver = false;

  /** @param only the one kind of fault that happens; null: as the dice fall. */
  constructor(cluster: Cluster, audit: Audit, only: Fault | null) {
    this.#cluster = cluster;
    this.#audit = audit;
    this.#world = cluster.world;
    this.#dice = cluster.world.dice;
    const plan = planFrom(this.#dice);
    this.#plan = only === null ? plan : { ...patient, faults: { ...NONE, [only]: 1 } };
  }

  start(): void {
    if (this.#plan !== null) this.#next(this.#plan);
  }

  /** Ends all that is wrong, and begins nothing more. */
  heal(): void {
    this.#world.note(() => 'all is healed');
    this.#isOver = true;
    for (const repair of [...this.#repairs]) repair();
    for (const machine of this.#cluster.machines) machine.start();
  }

  #next(plan: Plan, waitMs = 0): void {
    this.#world.after(waitMs + 30 + this.#dice.fraction() * plan.everyMs, () => {
      if (this.#isOver) return;
      const lengthMs = this.#length(plan);
      const fault = this.#dice.weighted(plan.faults);
      this.#strike(fault, plan, lengthMs);
      this.#next(plan, plan.isPatient && !MOMENTARY.has(fault) ? lengthMs * 0.8 : 0);
    });
  }

  #strike(fault: Fault, plan: Plan, lengthMs: number): void {
    const machine = this.#victim(plan);
    this.#world.note(() => `NEMESIS ${fault} ${machine.name}`);
    this.#acts[fault](machine, lengthMs);
  }

  readonly #acts: Readonly<Record<Fault, (machine: Machine, lengthMs: number) => void>> = {
    pause: (machine, lengthMs) => this.#pause(machine, lengthMs, 'pause'),
    'stand still': (machine, lengthMs) => this.#pause(machine, lengthMs, 'stand still'),
    crash: (machine) => this.#crash(machine),
    'cut from database': (machine, lengthMs) => this.#cut(machine, lengthMs),
    'part workers': (machine, lengthMs) => this.#partFromOne(machine, lengthMs),
    isolate: (machine, lengthMs) => this.#isolate(machine, lengthMs),
    'stop database': (_, lengthMs) => this.#stopDatabase(lengthMs),
    'freeze database': (_, lengthMs) => this.#freezeDatabase(lengthMs),
    'end sessions': () => this.#cluster.postgres.terminateOne(),
    'stuck commits': () => this.#weather({ stuckCommits: 0.3 }),
    'slow network': () => this.#weather({ travelMsMax: 60 }),
    'forget hints': () => this.#cluster.redis.forget(),
    'false hints': () => this.#lie(),
    'directory away': (_, lengthMs) => this.#directoryAway(lengthMs),
    drain: (machine) => this.#drain(machine),
    'move room': (machine) => this.#moveRoom(machine),
  };

  #victim({ seeksOwners }: Plan): Machine {
    const { machines, postgres } = this.#cluster;
    const any = this.#dice.pick(machines);
    if (!seeksOwners) return any;
    const { owner } = this.#dice.pick([...postgres.tables.owners.values()]);
    const address = owner === null ? null : postgres.tables.leases.get(owner)?.address;
    return machines.find((machine) => machine.address === address) ?? any;
  }

  #length({ longShare }: Plan): number {
    if (this.#dice.chance(1 - longShare)) return 10 + this.#dice.fraction() * 1_200;
    return 3_000 + this.#dice.fraction() * 4_000;
  }

  /** Begins something that ends by itself after a time, or when all is healed. */
  #for(ms: number, begin: () => void, end: () => void): void {
    begin();
    const repair = (): void => {
      if (this.#repairs.delete(repair)) end();
    };
    this.#repairs.add(repair);
    this.#world.after(ms, repair);
  }

  #pause(machine: Machine, lengthMs: number, how: 'pause' | 'stand still'): void {
    const process = machine.life?.process;
    if (process === undefined || process.isPaused) return;
    const begunMs = this.#world.nowMs;
    if (how === 'stand still') this.#audit.mayReadsBeStale = true;
    const end = (): void => process.resume(how === 'pause' ? {} : { stoodStillMs: this.#world.nowMs - begunMs });
    this.#for(lengthMs, () => process.pause(), end);
    this.#suspect(machine);
    if (lengthMs > SILENT_MS) this.#world.after(SILENT_MS, () => this.#fallSilent(machine, lengthMs - SILENT_MS));
  }

  /** Its peers close their connections to it, and get no new ones. */
  #fallSilent(machine: Machine, forMs: number): void {
    if (machine.life?.process.isPaused === true && !this.#isOver) this.#partFromAll(machine, forMs);
  }

  #partFromOne(machine: Machine, lengthMs: number): void {
    const others = this.#cluster.machines.filter((one) => one !== machine);
    this.#part(machine, this.#dice.pick(others), lengthMs);
  }

  #partFromAll(machine: Machine, lengthMs: number): void {
    for (const other of this.#cluster.machines) if (other !== machine) this.#part(machine, other, lengthMs);
  }

  /** For the mutant that does not wait for proof. */
  #suspect(machine: Machine): void {
    if (this.#cluster.mutant.isHasty !== true) return;
    this.#world.after(HASTY_MS, () => machine.life !== null && machine.fence(machine.life));
  }

  /** Only clients reach it; nobody remembers that it has rooms. */
  #isolate(machine: Machine, lengthMs: number): void {
    this.#partFromAll(machine, lengthMs);
    this.#cut(machine, lengthMs);
    this.#suspect(machine);
    this.#cluster.redis.forget();
  }

  #crash(machine: Machine): void {
    machine.kill();
    this.#world.after(20 + this.#dice.fraction() * 1_500, () => machine.start());
  }

  #cut({ link }: Machine, lengthMs: number): void {
    if (link.isCut) return;
    const directions = this.#dice.pick([['requests', 'replies'], ['requests'], ['replies']] as const);
    const breaks = this.#dice.chance(0.3);
    const end = (): void => {
      if (breaks) link.reset();
      link.heal();
    };
    this.#for(lengthMs, () => link.cut(directions), end);
  }

  #part(machine: Machine, other: Machine, lengthMs: number): void {
    const { network } = this.#cluster;
    const ends = [machine.address, other.address] as const;
    this.#for(
      lengthMs,
      () => network.part(...ends),
      () => network.heal(...ends),
    );
  }

  #freezeDatabase(lengthMs: number): void {
    const { postgres } = this.#cluster;
    this.#for(
      lengthMs,
      () => postgres.freeze(),
      () => postgres.thaw(),
    );
  }

  #stopDatabase(lengthMs: number): void {
    const { postgres } = this.#cluster;
    if (postgres.isUp)
      this.#for(
        lengthMs,
        () => postgres.stop(),
        () => postgres.start(),
      );
  }

  #weather(change: Partial<typeof FAIR>): void {
    const { weather } = this.#cluster;
    const ms = 200 + this.#dice.fraction() * 1_500;
    this.#for(
      ms,
      () => Object.assign(weather, change),
      () => Object.assign(weather, FAIR),
    );
  }

  /** Every answer names a worker by chance, under an epoch by chance. */
  #lie(): void {
    const { redis, machines } = this.#cluster;
    const lie = (key: string) => ({
      key,
      address: asWorkerAddress(this.#dice.chance(0.9) ? this.#dice.pick(machines).address : 'nowhere:1'),
      incarnation: asIncarnation('nobody'),
      epoch: this.#dice.below(100),
    });
    const ms = 100 + this.#dice.fraction() * 1_500;
    this.#for(
      ms,
      () => Object.assign(redis, { lie }),
      () => Object.assign(redis, { lie: null }),
    );
  }

  #directoryAway(lengthMs: number): void {
    const { redis } = this.#cluster;
    this.#for(
      lengthMs,
      () => Object.assign(redis, { isUp: false }),
      () => Object.assign(redis, { isUp: true }),
    );
  }

  /** A stop in order, as by SIGTERM; sometimes SIGKILL follows before it is done. */
  #drain(machine: Machine): void {
    const { life } = machine;
    if (life === null || life.worker === null) return;
    const { worker } = life;
    life.isDraining = true;
    const end = (): void => {
      if (machine.life !== life) return;
      machine.kill();
      this.#world.after(20 + this.#dice.fraction() * 500, () => machine.start());
    };
    if (this.#dice.chance(0.3)) this.#world.after(this.#dice.fraction() * 1_500, end);
    void life.process
      .enter(() => worker.announceEnd())
      .then(() => worker.stop())
      .then(end);
  }

  /** As the route does that gives a room to another organisation: its owner loses it, though it lives. */
  #moveRoom({ life }: Machine): void {
    if (life === null || life.worker === null) return;
    const { worker, process, db } = life;
    const roomId = asRoomId(this.#dice.pick([...this.#cluster.postgres.tables.rooms.keys()]));
    void process
      .enter(() => moveRoom(db, { roomId, from: 'default', to: 'default' }))
      .then(({ ownerAt }) => worker.door.close(roomId, { at: ownerAt, code: 'KICKED', facts: {} }))
      .catch(() => undefined); // the database is away: nothing happened, or nobody is told
  }
}

const patient = { everyMs: 1_000, longShare: 0.8, isPatient: true, seeksOwners: true } as const;

/** Null: nothing goes wrong. */
function planFrom(dice: Dice): Plan | null {
  const hasty = { everyMs: 900, longShare: 0.35, isPatient: false, seeksOwners: dice.chance(0.5) } as const;
  switch (dice.weighted({ mixed: 10, zombies: 6, standstill: 2, single: 3, none: 0.5 })) {
    case 'mixed':
      return { ...hasty, faults: MIXED };
    case 'zombies':
      return { ...patient, faults: ZOMBIES };
    case 'standstill':
      return { ...patient, faults: STANDSTILL };
    case 'single':
      return { ...hasty, faults: { ...NONE, [dice.weighted(MIXED)]: 1 } };
    case 'none':
      return null;
  }
}
