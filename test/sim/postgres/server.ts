/**
 * A Postgres that is not there: sessions that run one statement at a time, row locks, commits that take their time, and all of it in
 * virtual time. It can be frozen, restarted, and a session of it be ended at any moment.
 *
 * A statement sees what was committed when it began; what it writes is seen by others, all at once, when its transaction commits.
 */
import { AppError } from '../../../src/base/errors.ts';
import { Process, type World } from '../world.ts';
import { knownStatement } from './known.ts';
import { Locks } from './locks.ts';
import type { FakeTransaction, LockAnswer, Rows, Running } from './statement.ts';
import { FakeTables } from './tables.ts';

/** How long things take, in milliseconds, anew each time. */
export interface ServerPace {
  /** From the end of a statement that writes to the end of its commit. */
  commitMs(): number;
}

const LOCK_MS_MAX = 1_000;
const IDLE_IN_TRANSACTION_MS_MAX = 5_000;

/** What a session answers: rows, or an error as the adapter would translate it. */
export type Answer = { readonly rows: Rows } | { readonly error: unknown };

export class FakeServer {
  readonly tables = new FakeTables();
  readonly locks = new Locks<Session>();
  readonly world: World;
  readonly pace: ServerPace;
  readonly #sessions = new Set<Session>();
  process: Process;
  #isUp = true;

  constructor(world: World, pace: ServerPace) {
    this.world = world;
    this.pace = pace;
    this.process = new Process(world, 'postgres');
  }

  get isUp(): boolean {
    return this.#isUp;
  }

  connect(client: string, onEnd: () => void): Session {
    const session = new Session(this, client, onEnd);
    this.#sessions.add(session);
    return session;
  }

  forget(session: Session): void {
    this.#sessions.delete(session);
  }

  /** A crash: what has not committed never happened, and everybody loses their connection. */
  stop(): void {
    this.#isUp = false;
    this.process.kill();
    for (const session of [...this.#sessions]) session.end();
  }

  start(): void {
    this.#isUp = true;
    this.process = new Process(this.world, 'postgres');
  }

  freeze(): void {
    this.process.pause();
  }

  thaw(): void {
    this.process.resume();
  }

  /** An administrator ends one session, whatever it is doing. */
  terminateOne(): void {
    const sessions = [...this.#sessions];
    if (sessions.length > 0) this.world.dice.pick(sessions).end();
  }
}

/** The server's end of one connection. */
export class Session implements FakeTransaction {
  readonly client: string;
  readonly #server: FakeServer;
  readonly #onEnd: () => void;
  /** Writes of the open transaction, in order. */
  #writes: (() => void)[] = [];
  #isInTransaction = false;
  #isOver = false;
  #isHungUp = false;
  #isBusy = false;
  #stopWaiting: () => void = () => undefined;
  #cancelIdle: () => void = () => undefined;

  constructor(server: FakeServer, client: string, onEnd: () => void) {
    this.client = client;
    this.#server = server;
    this.#onEnd = onEnd;
  }

  get tables(): FakeTables {
    return this.#server.tables;
  }

  nowMs(): number {
    return this.#server.world.nowMs;
  }

  atCommit(write: () => void): void {
    this.#writes.push(write);
  }

  /** A statement arrives; `answer` is called when it is done, unless the session ends first. */
  take(text: string, values: readonly unknown[], answer: (answer: Answer) => void): void {
    if (this.#isOver) return;
    this.#isBusy = true;
    this.#cancelIdle();
    const done = (what: Answer): void => {
      this.#isBusy = false;
      answer(what);
      if (this.#isHungUp) this.end();
      else if (this.#isInTransaction) this.#awaitNext();
    };
    if (text === 'begin') {
      this.#isInTransaction = true;
      done({ rows: [] });
    } else if (text === 'rollback') {
      this.#rollback();
      done({ rows: [] });
    } else if (text === 'commit') {
      this.#commit(() => done({ rows: [] }));
    } else {
      this.#begin(text, values, done);
    }
  }

  /** The client is gone: what runs goes on to its end, what waits for the client's next word is undone. */
  hangUp(): void {
    this.#isHungUp = true;
    if (!this.#isBusy) this.end();
  }

  /** The session dies: a transaction that has not committed never happened. */
  end(): void {
    if (this.#isOver) return;
    this.#isOver = true;
    this.#stopWaiting();
    this.#cancelIdle();
    this.#rollback();
    this.#server.forget(this);
    this.#onEnd();
  }

  /** @throws Error to who runs the world when the fake cannot do this; the client hears it too. */
  #begin(text: string, values: readonly unknown[], done: (answer: Answer) => void): void {
    let running: Running | Rows;
    try {
      running = knownStatement(text).run(this, values);
    } catch (error) {
      done({ error });
      throw error;
    }
    this.#run(running, done);
  }

  #run(running: Running | Rows, done: (answer: Answer) => void): void {
    if (isRunning(running)) this.#step(running, 'held', done);
    else this.#ran(running, done);
  }

  /** Goes on until the statement is over, or has to wait. */
  #step(running: Running, answer: LockAnswer, done: (answer: Answer) => void): void {
    let step = running.next(answer);
    while (!step.done) {
      const { key, strength, onConflict } = step.value;
      const isHeld = this.#server.locks.tryTake(key, strength, this);
      if (!isHeld && onConflict === 'wait') {
        this.#wait(key, strength, { granted: () => this.#step(running, 'waited', done), done });
        return;
      }
      step = running.next(isHeld ? 'held' : 'skipped');
    }
    this.#ran(step.value, done);
  }

  #wait(
    key: string,
    strength: Parameters<Locks<Session>['wait']>[1],
    { granted, done }: { granted: () => void; done: (answer: Answer) => void },
  ): void {
    const { locks, world, process } = this.#server;
    const cancelTimeout = world.after(
      LOCK_MS_MAX,
      () => {
        giveUp();
        this.#stopWaiting = () => undefined;
        this.#rollback();
        done({ error: new AppError('DATABASE_UNAVAILABLE', { sqlState: '55P03', reason: 'lock timeout' }) });
      },
      process,
      'timer',
    );
    const goOn = (): void => {
      cancelTimeout();
      this.#stopWaiting = () => undefined;
      granted();
    };
    const giveUp = locks.wait(key, strength, { holder: this, granted: goOn });
    this.#stopWaiting = () => {
      cancelTimeout();
      giveUp();
    };
  }

  #ran(rows: Rows, done: (answer: Answer) => void): void {
    if (this.#isInTransaction) done({ rows });
    else this.#commit(() => done({ rows }));
  }

  /** What only reads has nothing to wait for. */
  #commit(done: () => void): void {
    const finish = (): void => {
      if (this.#isOver) return;
      const writes = this.#writes;
      this.#writes = [];
      this.#isInTransaction = false;
      for (const write of writes) write();
      this.#server.locks.releaseAll(this);
      done();
    };
    if (this.#writes.length === 0) finish();
    else this.#server.world.after(this.#server.pace.commitMs(), finish, this.#server.process);
  }

  #rollback(): void {
    this.#writes = [];
    this.#isInTransaction = false;
    this.#server.locks.releaseAll(this);
  }

  #awaitNext(): void {
    this.#cancelIdle = this.#server.world.after(IDLE_IN_TRANSACTION_MS_MAX, () => this.end(), this.#server.process, 'timer');
  }
}

function isRunning(value: Running | Rows): value is Running {
  return !Array.isArray(value);
}
