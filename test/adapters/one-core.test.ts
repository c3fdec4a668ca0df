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

test('[OV6] on the only core garbage is not marked beside the work; where there are more, nothing changes', async () => {
  const spared = await timesMarkedBeside({ cores: '0', before: 'spareTheOnlyCore();' });
  expect(spared).toBeLessThan(await timesMarkedBeside({ cores: '0', before: '' }));
  expect(spared).toBeLessThan(await timesMarkedBeside({ cores: '0,1', before: 'spareTheOnlyCore();' }));
}, 30_000);
