/** One run: a cluster, its clients, what befalls them, and the verdict. All of it follows from the seed. */
import type { Dice } from '../fuzz/dice.ts';
import { Audit, type Violation } from './audit.ts';
import { pause, RestClient, type Scene } from './clients.ts';
import { Landlord } from './landlord.ts';
import { type Mutant, NONE } from './mutants.ts';
import { type Fault, Nemesis } from './nemesis.ts';
import { isQuarantined } from './postgres/ownership.ts';
import { drawingOf, furnish } from './rooms.ts';
import { SocketClient } from './sockets.ts';
import { Cluster, Machine } from './workers.ts';
import { World } from './world.ts';

export interface RunOptions {
  readonly seed: number;
  readonly mutant?: Mutant;
  /** Nothing else goes wrong. */
  readonly only?: Fault | null;
  readonly keepsLog?: boolean;
}

export interface Verdict {
  readonly seed: number;
  readonly violations: readonly Violation[];
  readonly acked: number;
  readonly reads: number;
  readonly takeovers: number;
  readonly events: number;
  readonly virtualMs: number;
  readonly hash: string;
  readonly log: readonly string[];
}

const ROOMS = ['red', 'blue'];
const MACHINES = ['a', 'b', 'c'];
const CLIENTS = 5;
const TROUBLE_MS = 9_000;
/** A healed cluster answers for every room by then: the longest lease, and the longest time that a statement is waited for. */
const HEALED_MS_MAX = 25_000;

let judging: Audit | null = null;

/** For an error that nobody caught: it counts against the run of this moment. */
export function reportStray(error: unknown): void {
  const what = error instanceof Error ? String(error.stack) : String(error);
  if (judging === null) throw new Error(what);
  judging.broken('C11 no trouble in the code', `not caught: ${what}`);
}

export async function simulate(options: RunOptions): Promise<Verdict> {
  const unpatch = options.mutant?.patch?.();
  try {
    return await play(options);
  } finally {
    unpatch?.();
  }
}

async function play({ seed, mutant = NONE, only = null, keepsLog = false }: RunOptions): Promise<Verdict> {
  const world = new World({ seed, keepsLog });
  const audit = new Audit(world);
  judging = audit;
  world.onThrown((error) => audit.broken('C11 no trouble in the code', String((error as Error).stack)));
  const cluster = new Cluster(world, {
    policy: policyOf(world.dice),
    mutant,
    hasSupervisors: world.dice.chance(0.5),
    onTrouble: (what) => audit.broken('C11 no trouble in the code', what),
  });
  cluster.postgres.tables.listener = audit;
  for (const room of ROOMS) furnish(cluster.postgres.tables, room);
  for (const name of MACHINES) cluster.machines.push(new Machine(cluster, name));
  for (const machine of cluster.machines) machine.start();
  await world.run(50);

  let tokens = 0;
  const readShare = world.dice.pick([2, 5, 80]);
  const scene: Scene = {
    world,
    cluster,
    audit,
    rooms: ROOMS,
    readShare,
    newToken: () => `e${++tokens}e`,
    isSettling: false,
    isOver: false,
  };
  const nemesis = new Nemesis(cluster, audit, only);
  for (let actor = 1; actor <= CLIENTS; actor += 1) void new RestClient(scene, 1_000_000 + actor).run();
  const sockets = ROOMS.map((room) => new SocketClient(scene, { name: `in ${room}`, room }));
  for (const socket of sockets) void socket.run();
  const landlord = world.dice.chance(0.3) ? new Landlord(scene) : null;
  void landlord?.run();
  nemesis.start();
  await world.run(TROUBLE_MS);
  nemesis.heal();
  await settle(scene, sockets);
  await catchUp(scene, sockets);
  scene.isOver = true;
  await judgeWhatIsDurable(scene, landlord);
  const { violations, acked, reads, takeovers } = audit;
  const { events, elapsedMs, hash, log } = world;
  return { seed, violations, acked, reads, takeovers, events, virtualMs: elapsedMs, hash, log };
}

function policyOf(dice: Dice) {
  return {
    connectionsMax: 100,
    presenceBytesMax: 10_000,
    ydocsMax: 10,
    pendingBytesMax: 1_000_000,
    snapshotAfterChanges: dice.pick([4, 10, 1_000]),
    snapshotAfterBytes: 1_000_000,
    autoVersionMs: 0,
    snapshotEveryMs: dice.pick([1_500, 60_000]),
    idleMs: dice.pick([50, 1_500, 60_000]),
  };
}

/** Until it is done, or has had the time that it may take. A room in quarantine stops that time: faults hit the loads of one room again and again here. */
async function healed({ world, cluster }: Scene, isDone: () => boolean, { everyMs }: { everyMs: number }): Promise<void> {
  const { owners } = cluster.postgres.tables;
  const isKeptFrom = (): boolean => [...owners.values()].some((row) => isQuarantined(row, world.nowMs));
  for (let passedMs = 0; !isDone() && passedMs < HEALED_MS_MAX; passedMs += isKeptFrom() ? 0 : everyMs) await world.run(everyMs);
}

/** Until every room has taken an edit and shown it, and everybody over a socket has had an answer to everything. */
async function settle(scene: Scene, sockets: readonly SocketClient[]): Promise<void> {
  scene.isSettling = true;
  const { world, audit, rooms } = scene;
  const waiting = new Set(rooms);
  const client = new RestClient(scene, 2_000_000);
  const probe = async (room: string): Promise<void> => {
    while (!(await client.edit(room, 'push')) || !(await client.read(room))) await pause(world, 50);
    waiting.delete(room);
  };
  for (const room of rooms) void probe(room);
  const isDone = (): boolean => waiting.size === 0 && sockets.every((socket) => socket.isQuiet);
  await healed(scene, isDone, { everyMs: 100 });
  for (const room of waiting) audit.broken('L1 a healed cluster serves', `${room} does not after ${HEALED_MS_MAX} ms`);
  for (const socket of sockets)
    if (!socket.isQuiet) audit.broken('L2 clients catch up', `${socket.room}: a socket has no answer after ${HEALED_MS_MAX} ms`);
}

/** Until everybody who follows a room was shown what is known of it; who lost touch with the owner may take a while to join anew. */
async function catchUp(scene: Scene, sockets: readonly SocketClient[]): Promise<void> {
  const { audit } = scene;
  const known = sockets.map(({ room }) => audit.knownOf(room));
  const missing = (): string[] => sockets.flatMap(({ room, seen }, at) => audit.missing(room, seen, known[at]!));
  await healed(scene, () => missing().length === 0, { everyMs: 50 });
  const missed = missing();
  if (missed.length > 0) audit.broken('L2 clients catch up', `${missed.slice(0, 5).join(' ')} after ${HEALED_MS_MAX} ms`);
}

/** All processes die; a new one reads what is in the database. */
async function judgeWhatIsDurable(scene: Scene, landlord: Landlord | null): Promise<void> {
  const { world, cluster, audit, rooms } = scene;
  for (const machine of cluster.machines.splice(0)) machine.kill();
  const machine = new Machine(cluster, 'z');
  cluster.machines.push(machine);
  machine.start();
  await world.run(50);
  void fenceOthers(machine, world);
  await world.run(50);
  const waiting = new Set<string>(rooms);
  const client = new RestClient(scene, 3_000_000);
  for (const room of rooms) {
    const known = audit.knownOf(room);
    const drawn = audit.knownOf(drawingOf(room));
    void client.sights(room).then(({ storage, drawing }) => {
      waiting.delete(room);
      audit.final(room, storage, known);
      audit.final(drawingOf(room), drawing, drawn);
    });
  }
  if (landlord !== null) {
    waiting.add('green');
    void landlord.judge().then(() => waiting.delete('green'));
  }
  await healed(scene, () => waiting.size === 0, { everyMs: 50 });
  for (const room of waiting) audit.broken('L1 a healed cluster serves', `${room} cannot be read at the end`);
}

/** As the lock on DATA_DIR proves it in embedded mode: so nobody needs to wait for the leases of the dead. */
async function fenceOthers(machine: Machine, world: World): Promise<void> {
  const worker = machine.life?.worker;
  if (worker === null || worker === undefined) return;
  await worker.fenceAllOthers().catch(() => pause(world, 50).then(() => fenceOthers(machine, world)));
}
