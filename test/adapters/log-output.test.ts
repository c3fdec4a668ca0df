/** The log of a process whose standard output is a disk that is full, or a pipe that nobody reads for a while. */
import { execFileSync, spawn } from 'node:child_process';
import { once } from 'node:events';
import { closeSync, constants, openSync, readSync } from 'node:fs';
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { describe, expect, onTestFinished, test } from 'vitest';
import { compiled } from '../support/compiled.ts';
import { until } from '../support/e2e/until.ts';
import type { Told } from '../support/log-output-child.ts';

const program = await compiled('test/support/log-output-child.ts');
const EXIT_CODE = 7;

async function loggingTo(fd: number) {
  const child = spawn(process.execPath, [program], { stdio: ['ignore', fd, 'inherit', 'ipc'] });
  closeSync(fd);
  onTestFinished(() => void child.kill('SIGKILL'));
  await once(child, 'message');
  const tell = (told: Told): void => void child.send(told);
  return {
    async log(lines: number, size: number) {
      tell({ lines, size });
      await once(child, 'message');
    },
    async exit() {
      const ended = once(child, 'exit');
      tell({ exit: EXIT_CODE });
      return (await ended)[0] as number | null;
    },
  };
}

/** A pipe of the system (those between a Node process and its child are sockets). */
async function aPipe() {
  const directory = await mkdtemp(join(tmpdir(), 'atrium-log-'));
  onTestFinished(() => rm(directory, { recursive: true }));
  const path = join(directory, 'pipe');
  execFileSync('mkfifo', [path]);
  const reader = openSync(path, constants.O_RDONLY | constants.O_NONBLOCK);
  onTestFinished(() => closeSync(reader));
  const bytes = Buffer.alloc(65_536);
  let text = '';
  const read = (): string => {
    try {
      for (let count = 1; count > 0; text += bytes.toString('utf8', 0, count)) count = readSync(reader, bytes);
    } catch (error) {
      if ((error as NodeJS.ErrnoException).code !== 'EAGAIN') throw error;
    }
    return text;
  };
  return { writer: openSync(path, 'w'), read };
}

const linesOf = (text: string): { number?: number; lines?: number; msg: string }[] =>
  text
    .trim()
    .split('\n')
    .map((line) => JSON.parse(line));

describe.runIf(process.platform === 'linux')('[LG2] standard output that cannot be written', () => {
  test('a disk that is full: the process goes on, and ends when it is to', async () => {
    const process = await loggingTo(openSync('/dev/full', 'w'));
    await process.log(1, 100);
    await process.log(100_000, 10);
    await process.log(1, 100);
    expect(await process.exit()).toBe(EXIT_CODE);
  });

  test('a pipe that nobody reads: the process goes on, and ends when it is to', async () => {
    const { writer } = await aPipe();
    const process = await loggingTo(writer);
    for (let time = 0; time < 5; time += 1) await process.log(1_000, 1_000);
    expect(await process.exit()).toBe(EXIT_CODE);
  });

  test('a pipe that is read again: it has all lines that fitted, whole and in order, and how many did not', async () => {
    const { writer, read } = await aPipe();
    const process = await loggingTo(writer);
    for (let time = 0; time < 5; time += 1) await process.log(1_000, 1_000);
    await until('it says how many', () => read().includes('log lines lost') && read().endsWith('\n'));
    await process.log(1, 10);
    await until('it goes on', () => read().includes('"number":5000,'));
    const lines = linesOf(read());
    const numbers = lines.flatMap(({ number }) => number ?? []);
    const lost = lines.reduce((sum, { lines: count }) => sum + (count ?? 0), 0);
    expect(numbers.length + lost).toBe(5_001);
    expect(lost).toBeGreaterThan(1_000);
    expect(numbers).toEqual([...numbers].sort((left, right) => left - right));
    expect(await process.exit()).toBe(EXIT_CODE);
  });
});

test('[LG3] what is logged last is written before the process ends', async () => {
  const { writer, read } = await aPipe();
  const process = await loggingTo(writer);
  await process.log(200, 100); // fits the pipe
  expect(await process.exit()).toBe(EXIT_CODE);
  expect(linesOf(read()).map(({ number }) => number)).toEqual(Array.from({ length: 200 }, (_, number) => number));
});
