/**
 * The S3 server of a test run: a real Ceph RGW, started by the first test file that asks and shared by all, because it takes some 12 s. It ends with
 * the run, however that ends: `rgw.sh` watches the process of the run.
 */
import { spawn } from 'node:child_process';
import { existsSync, openSync } from 'node:fs';
import { mkdir, readFile, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { quietPorts } from './e2e/free-port.ts';
import { until } from './e2e/until.ts';

export interface S3Server {
  readonly endpoint: string;
  readonly accessKey: string;
  readonly secretKey: string;
}

const ACCESS_KEY = 'AKIATEST';
const SECRET_KEY = 'secretsecret';
const START_MS_MAX = 180_000;
const STARTS_MAX = 3;

/** The address of this run's server. */
export async function sharedRgw(): Promise<S3Server> {
  const run = process.ppid; // test files are processes that the run forks
  const folder = join(tmpdir(), `atrium-rgw-${run}`);
  const endpoint = (await found(folder)) ?? (await startOrWait(folder, run));
  return { endpoint, accessKey: ACCESS_KEY, secretKey: SECRET_KEY };
}

/** One that ends before it serves is started once more: four daemons of another make may meet a port or a moment that is not theirs. */
async function startOrWait(folder: string, run: number, startsLeft = STARTS_MAX): Promise<string> {
  if (await isFirst(folder)) await start(folder, run);
  const ready = async (): Promise<string | null> => (await found(folder)) ?? (existsSync(folder) ? null : 'gave up');
  const outcome = await until('the S3 server of this run is ready', ready, { timeoutMs: START_MS_MAX });
  if (outcome !== 'gave up') return outcome;
  const failure = new Error(`the S3 server did not start: ${await readFile(`${folder}.log`, 'utf8')}`);
  if (startsLeft === 1) throw failure;
  console.warn(failure.message);
  return startOrWait(folder, run, startsLeft - 1);
}

/** Only one of many makes the folder. */
async function isFirst(folder: string): Promise<boolean> {
  try {
    await mkdir(folder);
    return true;
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === 'EEXIST') return false;
    throw error;
  }
}

async function start(folder: string, run: number): Promise<void> {
  const script = fileURLToPath(new URL('./rgw.sh', import.meta.url));
  const port = await quietPorts(2); // bound seconds later, while other tests take free ports
  const log = openSync(`${folder}.log`, 'w');
  const args = [script, folder, String(port), String(port + 1), ACCESS_KEY, SECRET_KEY, String(run)];
  spawn('bash', args, { detached: true, stdio: ['ignore', log, log] }).unref();
}

/** The address in the folder, when somebody answers there; a folder that a killed run left under this number is removed. */
async function found(folder: string): Promise<string | null> {
  const endpoint = await readFile(join(folder, 'ready'), 'utf8').catch(() => null);
  if (endpoint === null) return null;
  const answer = await fetch(endpoint.trim()).catch(() => null);
  if (answer !== null) return endpoint.trim();
  await rm(folder, { recursive: true, force: true });
  return null;
}
