/** The S3 of a chaos run: a real Ceph RGW, which ends with this process. What is in it is in memory, so faults befall the way to it instead. */
import { type ChildProcess, spawn } from 'node:child_process';
import { closeSync, openSync } from 'node:fs';
import { mkdir, readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { quietPorts } from '../support/e2e/free-port.ts';
import { until } from '../support/e2e/until.ts';

const START_MS_MAX = 180_000;
const SCRIPT = fileURLToPath(new URL('../support/rgw.sh', import.meta.url));

export class RgwProcess {
  readonly accessKey = 'AKIATEST';
  readonly secretKey = 'secretsecret';
  readonly port: number;
  readonly #shell: ChildProcess;

  private constructor(port: number, shell: ChildProcess) {
    this.port = port;
    this.#shell = shell;
  }

  static async start(folder: string): Promise<RgwProcess> {
    await mkdir(folder, { recursive: true });
    const port = await quietPorts(2);
    const out = openSync(`${folder}.log`, 'w');
    const data = join(folder, 'data');
    const shell = spawn('bash', [SCRIPT, data, String(port), String(port + 1), 'AKIATEST', 'secretsecret', String(process.pid)], {
      stdio: ['ignore', out, out],
      detached: true, // a Ctrl-C is for us; the script sees our end
    });
    closeSync(out);
    const isReady = (): Promise<boolean> => readFile(join(data, 'ready'), 'utf8').then((address) => address !== '');
    await until('S3 serves, or has ended', async () => shell.exitCode !== null || (await isReady()), { timeoutMs: START_MS_MAX });
    if (shell.exitCode !== null) throw new Error((await readFile(`${folder}.log`, 'utf8')).slice(-2_000));
    return new RgwProcess(port, shell);
  }

  async stop(): Promise<void> {
    const gone = new Promise((resolve) => this.#shell.once('exit', resolve));
    if (this.#shell.exitCode !== null || !this.#shell.kill('SIGTERM')) return;
    await gone;
  }
}
