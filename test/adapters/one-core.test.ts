import { execFile } from 'node:child_process';
import { promisify } from 'node:util';
import { expect, test } from 'vitest';
import { compiled } from '../support/compiled.ts';

const run = promisify(execFile);
const BUILT = await compiled('src/adapters/one-core.ts');
const RUNS = 3;

/** How often V8 sets threads to marking while processes on these cores fill their heaps. What the end of a collection shares out counts, too. */
async function timesMarkedBeside({ cores, before }: { cores: string; before: string }): Promise<number> {
  const program = `
    const { spareTheOnlyCore } = await import('${BUILT}');
    ${before}
    const kept = [];
    for (let count = 0; count < 1_000_000; count += 1) kept.push({ count, text: 'x' + count });
    console.log('filled', kept.length);`;
  let times = 0;
  for (let each = 0; each < RUNS; each += 1) {
    const node = [process.execPath, '--trace-concurrent-marking', '--input-type=module', '-e', program];
    const { stdout } = await run('taskset', ['-c', cores, ...node]);
    expect(stdout).toContain('filled 1000000');
    times += stdout.split('Starting major concurrent marking').length - 1;
  }
  return times;
}

/** Policy and niceness of each thread (the 41st and the 19th field of proc_pid_stat(5)). */
const PROGRAM = `
  const { readdirSync, readFileSync } = await import('node:fs');
  const { spareTheOnlyCore } = await import('${BUILT}');
  const threads = readdirSync('/proc/self/task');
  spareTheOnlyCore();
  const stats = threads.map((thread) => readFileSync('/proc/self/task/' + thread + '/stat', 'utf8'));
  const fields = stats.map((stat) => stat.slice(stat.lastIndexOf(')') + 2).split(' '));
  console.log(JSON.stringify(fields.map((field) => ({ policy: Number(field[38]), nice: Number(field[16]) }))));`;
const BATCH = 3; // SCHED_BATCH of sched(7)

/** What a process on these cores makes of its threads; `before` is a command that runs it. */
async function threadsOn(cores: string, before: readonly string[] = []): Promise<{ policy: number; nice: number }[]> {
  const node = [process.execPath, '--input-type=module', '-e', PROGRAM];
  const { stdout } = await run('taskset', ['-c', cores, ...before, ...node]);
  return JSON.parse(stdout);
}

test("[OV6] on the only core V8's five helpers do not interrupt the work; where there are more, nothing changes", async () => {
  const steppedBack = ({ policy, nice }: { policy: number; nice: number }): boolean => policy === BATCH && nice === 10;
  const changed = ({ policy, nice }: { policy: number; nice: number }): boolean => policy !== 0 || nice !== 0;
  const spared = await threadsOn('0');
  expect([spared.filter(steppedBack), spared.filter(changed)].map(({ length }) => length)).toEqual([5, 5]);
  expect((await threadsOn('0,1')).filter(changed)).toEqual([]);
});

/** The numbers of system calls, by architecture. */
const CALLS: Record<string, Record<string, number>> = {
  x64: { prctl: 157, setpriority: 141, sched_setscheduler: 144, getdents64: 217 },
  arm64: { prctl: 167, setpriority: 140, sched_setscheduler: 119, getdents64: 61 },
};

/** Runs a command to which the system refuses a call, as systemd's SystemCallFilter does (seccomp(2)). */
const REFUSING = `
  my ($prctl, $call, $answer, @command) = @ARGV;
  my $filter = join '', map { pack 'SCCL', @$_ } [0x20, 0, 0, 0], [0x15, 0, 1, $call], [0x06, 0, 0, $answer], [0x06, 0, 0, 0x7fff0000];
  syscall($prctl, 38, 1, 0, 0, 0) == 0 && syscall($prctl, 22, 2, pack('Sx6P', 4, $filter)) == 0 or die $!;
  exec @command;`;
const WITH_EPERM = 0x0005_0001;
const WITH_SIGSYS = 0x8000_0000;

test.each([
  ['their priority, with an error', 'setpriority', WITH_EPERM, { policy: BATCH, nice: 0 }],
  ['their priority, at the cost of the process', 'setpriority', WITH_SIGSYS, { policy: BATCH, nice: 0 }],
  ['their class, at the cost of the process', 'sched_setscheduler', WITH_SIGSYS, { policy: 0, nice: 10 }],
])('[OV6] what the system refuses is left as it was, and the start goes on: %s', async (_, call, answer, expected) => {
  const calls = CALLS[process.arch]!;
  const threads = await threadsOn('0', ['perl', '-e', REFUSING, ...[calls.prctl, calls[call], answer].map(String)]);
  expect(threads.slice(1, 6)).toEqual(Array(5).fill(expected));
});

test('[OV6] where the system does not say which threads there are, the start goes on', async () => {
  const { prctl, getdents64 } = CALLS[process.arch]!;
  const program = `const { spareTheOnlyCore } = await import('${BUILT}'); spareTheOnlyCore(); console.log('started');`;
  const refusing = ['perl', '-e', REFUSING, ...[prctl, getdents64, WITH_EPERM].map(String)];
  const node = [process.execPath, '--input-type=module', '-e', program];
  expect((await run('taskset', ['-c', '0', ...refusing, ...node])).stdout).toBe('started\n');
});

test('[OV6] on the only core garbage is not marked beside the work; where there are more, nothing changes', async () => {
  const spared = await timesMarkedBeside({ cores: '0', before: 'spareTheOnlyCore();' });
  expect(spared).toBeLessThan(await timesMarkedBeside({ cores: '0', before: '' }));
  expect(spared).toBeLessThan(await timesMarkedBeside({ cores: '0,1', before: 'spareTheOnlyCore();' }));
}, 30_000);
