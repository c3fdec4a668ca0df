import { execFileSync } from 'node:child_process';
import { expect, test } from 'vitest';
import { compiled } from '../support/compiled.ts';

const BUILT = await compiled('src/adapters/young-garbage.ts');

/** What V8 says of its collections while a program runs in a process of its own. */
function collectionsOf(program: string): string[] {
  const node = ['--trace-gc', '--input-type=module', '-e', `const { collectYoung } = await import('${BUILT}');\n${program}`];
  const output = execFileSync(process.execPath, node, { encoding: 'utf8' });
  return output.split('\n').flatMap((line) => /ms: (\S+) .*testing/.exec(line)?.slice(1) ?? []);
}

test('[DO11] the young generation alone is collected, each time, and programs get no way to do so', () => {
  expect(collectionsOf('for (let each = 0; each < 3; each += 1) collectYoung();')).toEqual(['Scavenge', 'Scavenge', 'Scavenge']);
  expect(collectionsOf("collectYoung(); if (globalThis.gc !== undefined) throw new Error('gc')")).toEqual(['Scavenge']);
});
