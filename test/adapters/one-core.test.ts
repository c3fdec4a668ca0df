import { execFile } from 'node:child_process';
import { promisify } from 'node:util';
import { expect, test } from 'vitest';

const run = promisify(execFile);

/** What V8 says of its marking threads in a process on these cores that fills its heap. */
async function markingOn(cores: string): Promise<string> {
  const program = `
    const { spareTheOnlyCore } = await import(${JSON.stringify(new URL('../../src/adapters/one-core.ts', import.meta.url).href)});
    spareTheOnlyCore();
    const kept = [];
    for (let count = 0; count < 1_000_000; count += 1) kept.push({ count, text: 'x' + count });
    console.log('filled', kept.length);`;
  const node = [process.execPath, '--trace-concurrent-marking', '--import', 'tsx', '--input-type=module', '-e', program];
  return (await run('taskset', ['-c', cores, ...node])).stdout;
}

test('[OV6] garbage is marked beside the work where there are cores for it, and never on the only core', async () => {
  const alone = await markingOn('0');
  expect(alone).toContain('filled 1000000');
  expect(alone.split('filled')[0]).not.toContain('concurrent marking');
  expect((await markingOn('0,1')).split('filled')[0]).toContain('concurrent marking');
}, 30_000);
