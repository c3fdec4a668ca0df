/**
 * One worker, wired: its standing, its rooms, its sockets, and the way to rooms on other workers. All that it needs of the world comes in,
 * so that the same worker runs in production and, many at a time, in the simulation.
 */
import { Background, twentieth } from '../base/background.ts';
import { chanceFrom, pause } from '../base/clock.ts';
import { AppError } from '../base/errors.ts';
import { asRoomId, type Incarnation, type RoomId, type WorkerAddress } from '../base/ids.ts';
import { type Metrics, noMetrics } from '../base/metrics.ts';
import { OnePerTurn } from '../base/one-per-turn.ts';
import { roughBytesOf } from '../base/rough-bytes.ts';
import { Slices } from '../base/slices.ts';
import { noTracer } from '../base/trace.ts';
import type { Loss } from '../kernel/actor/actor.ts';
import { ActorHost, LOADS_MAX } from '../kernel/actor/actor-host.ts';
import type { WorkerEntry } from '../kernel/cluster/directory.ts';
import { LEASE } from '../kernel/cluster/lease.ts';
import { Membership } from '../kernel/cluster/membership.ts';
import { OwnLocations } from '../kernel/cluster/own-locations.ts';
import type { Recall } from '../kernel/cluster/ownership.ts';
import { Quarantine } from '../kernel/cluster/quarantine.ts';
import { Rebalancer } from '../kernel/cluster/rebalancer.ts';
import { Router } from '../kernel/cluster/router.ts';
import { findLeasedWorkers } from '../kernel/cluster/sql-workers.ts';
import { Workers } from '../kernel/cluster/workers.ts';
import { measuredBus, measuredDirectory, measuredOwnership, measuredSnapshots } from '../kernel/measured-ports.ts';
import { SqlJournal } from '../kernel/persistence/sql-journal.ts';
import { SqlSnapshots } from '../kernel/persistence/sql-snapshots.ts';
import { Beat } from './beat.ts';
import { extraAnswerMs, isKnown, isParting, isRead, isRepeatable } from './command-kinds.ts';
import { DocumentsAhead } from './documents-ahead.ts';
import { openDoor } from './door.ts';
import { Gateway } from './gateway.ts';
import { Intake } from './intake.ts';
import { type LoadRoomDeps, loadRoom } from './load-room.ts';
import { WAITING_BYTES_MAX } from './policy.ts';
import { RemoteSessions, type SessionSink } from './remote-sessions.ts';
import type { RoomActor } from './room-actor.ts';
import { RoomChanges } from './room-changes.ts';
import type { Command, Ending, RoomDoor } from './shapes.ts';
import { WaitingBytes } from './waiting-bytes.ts';
import { WatchCalls } from './watch-calls.ts';
import type { WorkerDeps } from './worker-deps.ts';

/** Commands that wait for one room to load; each is a socket that joins or a REST call. */
const WAITING_PER_ROOM_MAX = 2_000;
/** A command that waits in memory is not weighed any further than that: no second one finds room beside it. */
const COMMAND_BYTES_MAX = 16 * 1024 * 1024;
/** With other workers there, the sockets of a drained one are sent to them over this time. */
const DRAIN_SPREAD_MS = 3_000;
/** How long a drain waits for an entry of the journal, from its own beginning. What is not written by then was not acknowledged. */
const JOURNAL_MS_MAX = 10_000;
const JOURNAL_LOOK_MS = 500;

/** After a lapse, the first look comes when others may have claimed what was here. */
const LOOK_EVERY_MS = LEASE.lastsMs + LEASE.graceMs - LEASE.servesForMs;
const LOOKS_MAX = 3;
const STANDS = 'worker.stands';
const REPORT = 'worker.report';
const REPORT_MS_MAX = 1_000;
const REPORTS_MAX = 100;
const CLOSE_AGAIN_MS = 200;

export class Worker {
  readonly #deps: WorkerDeps;
  readonly #journal: SqlJournal;
  readonly #host: ActorHost<Command>;
  readonly #ownership: Membership;
  readonly #locations: OwnLocations;
  readonly #workers: Workers;
  readonly #remote: RemoteSessions;
  readonly #router: Router<Command>;
  readonly #rebalancer: Rebalancer;
  readonly #loadDeps: LoadRoomDeps;
  readonly gateway: Gateway;
  readonly changes: RoomChanges;
  readonly watch: WatchCalls;
  #isDraining = false;
  #cancelLook: () => void = () => undefined;

  /** Takes a lease and begins to serve. @throws AppError DATABASE_UNAVAILABLE */
  static async start(deps: WorkerDeps): Promise<Worker> {
    const standing: { worker: Worker | null } = { worker: null };
    const ownership = await Membership.join({
      ...deps.world,
      db: deps.authority,
      lease: deps.lease,
      address: deps.cluster.bus.address,
      onLapsed: () => standing.worker?.suspend(),
      onRecalled: (recalls) => standing.worker?.recall(recalls),
      onRegistered(incarnation) {
        deps.onRegistered?.(incarnation);
        void standing.worker?.resume();
      },
    });
    const worker = new Worker(deps, ownership);
    standing.worker = worker;
    await worker.#workers.beat();
    return worker;
  }

  private constructor(deps: WorkerDeps, ownership: Membership) {
    const { world, authority, blobs, cluster, rooms, limits, sockets, sheds = () => false } = deps;
    const { clock, log, metrics = noMetrics, tracer = noTracer, slices = new Slices(world.clock) } = world;
    const { intake = new Intake({ clock, log }) } = deps;
    const { bus, directory, workerName, findLeased = () => findLeasedWorkers(authority) } = cluster;
    this.#deps = deps;
    this.#ownership = ownership;
    this.#journal = new SqlJournal({ db: authority, clock, log, metrics });
    this.#host = new ActorHost<Command>({
      clock,
      waitingMax: WAITING_PER_ROOM_MAX,
      mayWake: () => !sheds('wake'),
      onError: (error, roomId) => log.error({ err: error, roomId }, 'room failed'),
      onStopped: (roomId) => this.#locations.retract(roomId),
      onUntold: (_, command) => this.#unheard(command, this.gateway),
      onHeld: (roomId, outcome) => {
        metrics.count('atrium_rooms_held_total', outcome);
        log.debug({ roomId, outcome }, 'room takes long');
      },
      undoes: isParting,
      weightOf: (command) => roughBytesOf(command, COMMAND_BYTES_MAX),
      load: (key, onLost) => this.#load(key, onLost),
    });
    this.#locations = new OwnLocations({ directory, address: bus.address, incarnation: () => ownership.incarnation, log });
    this.#workers = new Workers({
      directory: measuredDirectory(directory, { metrics }),
      clock,
      log,
      findLeased,
      self: () => this.#entry,
    });
    this.#remote = new RemoteSessions({
      bus,
      workerName,
      clock,
      onGone: (sessionIds) => this.#host.tellAll({ type: 'sessions.gone', sessionIds }), // nobody knows in which room they were
    });
    this.#router = new Router<Command>({
      host: this.#host,
      bus: measuredBus(bus, { metrics, clock }),
      directory,
      workers: this.#workers,
      clock,
      ...{ isRepeatable, isRead, extraMs: extraAnswerMs },
      findOwner: (key) => rooms.findOwner(asRoomId(key)),
      onForwarded: (_, command, from) => this.#forwarded(command, from),
      onUndelivered: (command) => this.#unheard(command, this.#remote),
    });
    this.gateway = new Gateway({
      clock,
      log,
      workerName,
      rooms: this.#router,
      elsewhere: this.#remote,
      chance: () => chanceFrom(world.random),
      connectionsMax: limits.connectionsMax,
      sheds,
      intake,
      slices,
      limits: limits.limits,
      metrics,
      ...sockets,
    });
    const findOthers = async (): Promise<WorkerAddress[]> =>
      (await findLeased()).map(({ address }) => address).filter((address) => address !== bus.address);
    this.changes = new RoomChanges({ bus, clock, log, findOthers, remembered: rooms.remembered, sessions: this.gateway });
    this.watch = new WatchCalls({ bus, clock, log, findOthers, watcher: deps.watcher });
    this.#loadDeps = {
      clock,
      log,
      journal: this.#journal,
      metrics,
      tracer,
      snapshots: measuredSnapshots(new SqlSnapshots({ db: authority, blobs, journal: this.#journal, clock, log }), {
        metrics,
        clock,
        tracer,
      }),
      ownership: measuredOwnership(ownership, { metrics }),
      quarantine: new Quarantine({ db: authority, clock, log }),
      replays: new OnePerTurn({ clock, waitingMax: LOADS_MAX }),
      mayAnswer: () => ownership.isStanding,
      policy: limits.policy,
      beat: new Beat(clock),
      waiting: new WaitingBytes(WAITING_BYTES_MAX),
      background: new Background(clock, twentieth),
      documents: new DocumentsAhead(clock, deps.world.collectYoung),
      sessions: this.gateway,
      findStream: rooms.findStream,
      findSchema: rooms.findSchema,
      keepVersion: rooms.keepVersion,
      watcher: deps.watcher,
    };
    this.#rebalancer = new Rebalancer({ host: this.#host, workers: this.#workers, self: bus.address, clock, log });
    this.#showIn(metrics);
    metrics.gauge('atrium_intake_bytes', () => intake.bytes);
    bus.onDown((address) => this.#workerDown(address));
    bus.serve((message, from) => {
      if (Router.isFor(message)) return this.#router.handle(message, from);
      if (message.kind === STANDS) return ownership.isStanding;
      if (message.kind === REPORT) return deps.report?.() ?? null;
      if (this.changes.isFor(message)) return this.changes.handle(message);
      if (this.watch.isFor(message)) return this.watch.handle();
      if (RemoteSessions.isFor(message)) this.#remote.handle(message, { from, here: this.gateway });
      return null;
    });
  }

  /** How features speak to rooms. */
  get door(): RoomDoor {
    const isFull = (roomId: RoomId): boolean => this.#host.isFull(roomId);
    const close = (roomId: RoomId, ending: Ending): Promise<void> => this.#close(roomId, ending);
    const oldestAppendMs = (): number => this.oldestAppendMs;
    return openDoor({ clock: this.#deps.world.clock, router: this.#router, oldestAppendMs, isFull, close });
  }

  /** Another one whenever it may have missed what others announced; null while it may be missing something. */
  get standing(): Incarnation | null {
    return this.#ownership.isStanding ? this.#ownership.incarnation : null;
  }

  /** Whether this worker may own rooms at the moment. */
  get canServe(): boolean {
    return this.#ownership.isStanding && !this.#isDraining;
  }

  /** How long the oldest change of its rooms waits for its commit. */
  get oldestAppendMs(): number {
    return this.#journal.oldestMs;
  }

  /** Declares all other workers dead; only where something else proves it, as the lock on DATA_DIR does. */
  fenceAllOthers(): Promise<void> {
    return this.#ownership.fenceAllOthers();
  }

  /** What each worker that is known says of itself, this one first; null of one that does not answer within a second. Never rejects. */
  async reports(): Promise<{ readonly address: WorkerAddress; readonly report: unknown }[]> {
    const { bus } = this.#deps.cluster;
    const others = this.#workers.others.slice(0, REPORTS_MAX).map(async ({ address }) => ({
      address,
      report: await bus.ask(address, { kind: REPORT, payload: null }, { deadlineMs: REPORT_MS_MAX }).catch(() => null),
    }));
    return [{ address: bus.address, report: this.#deps.report?.() ?? null }, ...(await Promise.all(others))];
  }

  /** Without a lease: people in the rooms here go on seeing each other, documents wait. */
  suspend(): void {
    this.#host.suspendAll();
    this.#cancelLook();
    this.#cancelLook = this.#deps.world.clock.every(LOOK_EVERY_MS, () => void this.#look());
  }

  /** A change of the database took rooms from this worker. */
  recall(recalls: readonly Recall[]): void {
    this.#host.recall(recalls);
  }

  /** The database may have forgotten the last that it acknowledged: rooms whose claim it still knows are written down whole, the others are lost. */
  databaseReplaced(): void {
    this.#ownership.claimAnew();
    this.#host.saveAnew();
  }

  async resume(): Promise<void> {
    this.#cancelLook();
    void this.watch.lookAgain();
    await this.#host.resumeAll();
    await this.gateway.reconsiderAll();
  }

  /** Whether the database is away for all, or for this worker alone: then others take its rooms, and its sessions follow them. */
  async #look(): Promise<void> {
    const { bus } = this.#deps.cluster;
    for (const { address } of this.#workers.others.slice(0, LOOKS_MAX)) {
      const stands = await bus.ask(address, { kind: STANDS, payload: null }, { deadlineMs: LOOK_EVERY_MS }).catch(() => false);
      if (stands !== true || this.#ownership.isStanding) continue;
      this.#cancelLook();
      return this.#host.dropAll();
    }
  }

  /** This worker takes no more rooms; the others hear of it. Says whether there are others who do. */
  async announceEnd(): Promise<'others go on' | 'alone'> {
    this.#isDraining = true;
    this.#rebalancer.stop();
    void this.#ownership.drain();
    await this.#workers.beat();
    return this.#hasHeirs ? 'others go on' : 'alone';
  }

  /** Writes down every room and hands it to whoever asks for it next; sends all sockets away. Nothing is left running. */
  async stop(): Promise<void> {
    const { world, cluster } = this.#deps;
    const hasHeirs = this.#hasHeirs;
    if (!hasHeirs) await this.gateway.drain({ spreadMs: 0 });
    const patientUntilMs = world.clock.monotonicMs() + JOURNAL_MS_MAX;
    const cancel = world.clock.every(JOURNAL_LOOK_MS, () => {
      if (world.clock.monotonicMs() >= patientUntilMs && this.#journal.oldestMs >= JOURNAL_MS_MAX) this.#journal.close();
    });
    this.#loadDeps.background.stop();
    this.#loadDeps.quarantine.close();
    await this.#host.close(); // with heirs, sessions whose sockets are here join their rooms where those are now
    cancel();
    if (hasHeirs) await this.gateway.drain({ spreadMs: DRAIN_SPREAD_MS });
    this.#journal.close();
    this.#workers.close();
    this.#cancelLook();
    const entry = this.#entry;
    if (entry !== null) await cluster.directory.leave(entry.incarnation).catch((error: unknown) => this.#untold(error));
    await this.#ownership.leave();
  }

  /** Ends the lease at once, for a `stop` that takes too long: nobody need wait until it has run out for what was not given up. */
  giveUp(): Promise<void> {
    return this.#ownership.leave();
  }

  #showIn(metrics: Metrics): void {
    metrics.gauge('atrium_rooms', () => this.#host.size);
    metrics.gauge('atrium_held_rooms', () => this.#host.held);
    metrics.gauge('atrium_connections', () => this.gateway.size);
    metrics.gauge('atrium_journal_waiting_bytes', () => this.#loadDeps.waiting.bytes);
    metrics.gauge('atrium_journal_oldest_seconds', () => this.oldestAppendMs / 1_000);
    metrics.gauge('atrium_lease_remaining_seconds', () => this.#ownership.remainingMs / 1_000);
    metrics.gauge('atrium_ready', () => (this.canServe ? 1 : 0));
  }

  get #entry(): WorkerEntry | null {
    const { isStanding } = this.#ownership;
    if (!isStanding) return null;
    const { bus } = this.#deps.cluster;
    return {
      incarnation: this.#ownership.incarnation,
      address: bus.address,
      draining: this.#isDraining,
      load: this.#host.size,
    };
  }

  get #hasHeirs(): boolean {
    return this.#workers.candidates.some(({ address }) => address !== this.#deps.cluster.bus.address);
  }

  async #load(key: string, onLost: (loss: Loss) => void): Promise<RoomActor> {
    let epoch: number | null = null;
    const room = await loadRoom(this.#loadDeps, asRoomId(key), (loss) => {
      if (epoch !== null) this.#locations.retract(key, epoch);
      onLost(loss);
    });
    epoch = room.ground.epoch;
    try {
      this.#locations.publish(key, epoch);
    } catch (error) {
      room.drop(); // the lease is gone
      throw error;
    }
    return room;
  }

  /** The owner that does not answer hears of it with the next renewal of its lease, or has none any more by the end of this. */
  async #close(roomId: RoomId, { at, code, facts }: Ending): Promise<void> {
    if (at === null) return;
    const { clock } = this.#deps.world;
    const endMs = clock.monotonicMs() + LEASE.lastsMs + LEASE.graceMs;
    while (clock.monotonicMs() < endMs) {
      const isDone = await this.#router.askThere(at, roomId, { type: 'room.close', code, facts }).then(
        () => true,
        () => false,
      );
      if (isDone) return;
      await pause(clock, CLOSE_AGAIN_MS);
    }
  }

  /** Also of what is not for this worker: whoever sent it has to be told so. */
  /** @throws AppError WORKER_OUTDATED */
  #forwarded(command: Command, from: WorkerAddress): void {
    if (!isKnown(command)) throw new AppError('WORKER_OUTDATED');
    if (command.type === 'session.join') this.#remote.comesFrom(command.newcomer.id, from);
    else if ('from' in command && command.from !== null) this.#remote.comesFrom(command.from, from);
  }

  /** What a session said is lost: it joins anew, and its client brings back what counts. */
  #unheard(command: Command, sessions: SessionSink): void {
    if ('from' in command && command.from !== null) sessions.loseSessions([command.from]);
  }

  #workerDown(address: WorkerAddress): void {
    this.#router.down(address);
    for (const workerName of this.#remote.workerDown(address)) this.#host.tellAll({ type: 'sessions.depart', workerName });
    this.gateway.workerDown(address);
  }

  #untold(error: unknown): void {
    this.#deps.world.log.debug({ err: error }, 'end not told');
  }
}
