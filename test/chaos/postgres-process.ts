/** A real server on loopback that is restarted without mercy, frozen and thawed, and replaced by its standby. It survives its restarts with its data. */
import { execFile } from 'node:child_process';
import { appendFile, mkdir, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { startEmbeddedPostgres } from '../../src/adapters/embedded-postgres.ts';
import { findPlace, type Place } from '../../src/adapters/embedded-postgres-place.ts';
import { openPostgres } from '../../src/adapters/postgres-sql.ts';
import { systemClock, systemRandom } from '../../src/base/clock.ts';
import { silentLog } from '../../src/base/observe.ts';
import { type Daemon, startDaemon } from '../support/daemon.ts';
import { quietPorts } from '../support/e2e/free-port.ts';
import { until } from '../support/e2e/until.ts';
import { descendantsOf, isRunning, type Process, processOf } from '../support/process-tree.ts';
import { leash } from './leash.ts';

const SHARED_DIR = '/var/lib/atrium';
const READY_MS_MAX = 60_000;
const END_MS_MAX = 20_000;
const CONNECTIONS_MAX = 300;

export class PostgresProcess {
  readonly port: number;
  readonly #place: Place;
  readonly #folder: string;
  #daemon: Daemon | null = null;
  #frozen: { readonly processes: readonly Process[]; readonly letGo: () => void } | null = null;

  private constructor(port: number, { place, folder }: { place: Place; folder: string }) {
    this.port = port;
    this.#place = place;
    this.#folder = folder;
  }

  /** Makes a database cluster in `folder`, which everybody may enter, and starts it. */
  static async start(folder: string): Promise<PostgresProcess> {
    const tools = { clock: systemClock, random: systemRandom, log: silentLog };
    const dataDir = join(folder, 'postgres');
    await mkdir(dataDir, { recursive: true, mode: 0o711 });
    const made = await startEmbeddedPostgres({ ...tools, dataDir, sharedDir: SHARED_DIR, onExit: () => undefined });
    await made.stop();
    const place = await findPlace({ dataDir, sharedDir: SHARED_DIR, log: silentLog });
    const postgres = new PostgresProcess(await quietPorts(1), { place, folder: dataDir });
    await postgres.start();
    return postgres;
  }

  url(database: string, port = this.port): string {
    return `postgres://atrium@127.0.0.1:${port}/${database}?sslmode=disable`;
  }

  async start(): Promise<void> {
    const { home, bin, user } = this.#place;
    const settings = {
      listen_addresses: '127.0.0.1',
      port: this.port,
      unix_socket_directories: home,
      max_connections: CONNECTIONS_MAX,
      shared_buffers: '32MB',
      log_line_prefix: '%m [%p] ',
    };
    this.#daemon = await startDaemon(
      [
        ...(user === null ? [] : ['setpriv', `--reuid=${user.uid}`, `--regid=${user.gid}`, '--clear-groups']),
        ...[join(bin, 'postgres'), '-D', join(home, 'data')],
        ...Object.entries(settings).flatMap(([name, value]) => ['-c', `${name}=${value}`]),
      ],
      { directory: this.#folder },
    );
    await until('Postgres answers', () => this.ask('postgres', 'select 1 as one'), { timeoutMs: READY_MS_MAX }).catch(
      async (cause: unknown) => {
        throw new Error((await this.#daemon!.output()).slice(-2_000), { cause });
      },
    );
  }

  /** Of one that is stopped: a server on a copy of its data, which follows, asynchronously, whoever answers at the port. It has to be started. */
  async standby(folder: string, { following }: { readonly following: number }): Promise<PostgresProcess> {
    await mkdir(folder, { recursive: true, mode: 0o711 });
    const home = join(folder, 'home');
    await promisify(execFile)('cp', ['-a', this.#place.home, home]); // keeps the owner, which fs.cp does not
    const data = join(home, 'data');
    await writeFile(join(data, 'standby.signal'), '', { mode: 0o644 });
    await appendFile(join(data, 'postgresql.auto.conf'), `primary_conninfo = 'host=127.0.0.1 port=${following} user=atrium'\n`);
    return new PostgresProcess(await quietPorts(1), { place: { ...this.#place, home }, folder });
  }

  /** A standby becomes the primary, with what it has. */
  async promote(): Promise<void> {
    await this.ask('postgres', 'select pg_promote()');
  }

  /** As `pg_ctl stop -m immediate`: no checkpoint, no goodbye. */
  async stopAtOnce(): Promise<void> {
    this.thaw();
    const daemon = this.#daemon;
    if (daemon === null) return;
    const self = processOf(daemon.pid);
    if (self !== null && self.state !== 'Z') {
      daemon.signal('SIGQUIT');
      await until('Postgres has ended', () => !isRunning(self), { timeoutMs: END_MS_MAX });
    }
    await daemon.kill();
    this.#daemon = null;
  }

  /** All its processes stand still, with what they hold. */
  freeze(): void {
    const { pid } = this.#daemon!;
    const processes = [processOf(pid)!, ...descendantsOf(pid)];
    const letGo = leash(
      'CONT',
      processes.map((one) => one.pid),
    );
    this.#frozen = { processes, letGo };
    for (const one of processes) signalIfRunning(one, 'SIGSTOP');
    for (const one of descendantsOf(pid)) signalIfRunning(one, 'SIGSTOP'); // forked meanwhile
  }

  thaw(): void {
    if (this.#frozen === null) return;
    for (const one of [...this.#frozen.processes, ...descendantsOf(this.#daemon!.pid)]) signalIfRunning(one, 'SIGCONT');
    this.#frozen.letGo();
    this.#frozen = null;
  }

  /** A statement past whatever the cluster sees of the database. */
  async ask<Row>(database: string, text: string): Promise<Row[]> {
    const db = openPostgres({
      url: this.url(database),
      poolMax: 1,
      log: silentLog,
      statementMsMax: READY_MS_MAX,
      connectMsMax: 1_000,
    });
    try {
      return (await db.query({ text, values: [] })) as Row[];
    } finally {
      await db.close();
    }
  }
}

function signalIfRunning(one: Process, signal: NodeJS.Signals): void {
  if (isRunning(one)) process.kill(one.pid, signal);
}
