import { execFile } from 'node:child_process';
import { promisify } from 'node:util';
import { expect, test } from 'vitest';

const run = promisify(execFile);
const BUILT = new URL('../../dist/adapters/one-core.js', import.meta.url).href;
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

/** How many of a process on these cores are batch threads (SCHED_BATCH of sched(7): the 41st field of proc_pid_stat(5)). */
async function batchThreadsOn(cores: string): Promise<number> {
  const program = `
    const { readdirSync, readFileSync } = await import('node:fs');
    const { spareTheOnlyCore } = await import('${BUILT}');
    spareTheOnlyCore();
    const stats = readdirSync('/proc/self/task').map((thread) => readFileSync('/proc/self/task/' + thread + '/stat', 'utf8'));
    console.log(stats.filter((stat) => stat.slice(stat.lastIndexOf(')') + 2).split(' ')[38] === '3').length);`;
  const { stdout } = await run('taskset', ['-c', cores, process.execPath, '--input-type=module', '-e', program]);
  return Number(stdout);
}

test("[OV6] on the only core V8's five helpers do not interrupt the work; where there are more, nothing changes", async () => {
  expect([await batchThreadsOn('0'), await batchThreadsOn('0,1')]).toEqual([5, 0]);
});

test('[OV6] on the only core garbage is not marked beside the work; where there are more, nothing changes', async () => {
  const spared = await timesMarkedBeside({ cores: '0', before: 'spareTheOnlyCore();' });
  expect(spared).toBeLessThan(await timesMarkedBeside({ cores: '0', before: '' }));
  expect(spared).toBeLessThan(await timesMarkedBeside({ cores: '0,1', before: 'spareTheOnlyCore();' }));
}, 30_000);
