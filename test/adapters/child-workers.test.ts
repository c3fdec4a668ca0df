import { spawn } from 'node:child_process';
import { text } from 'node:stream/consumers';
import { expect, test } from 'vitest';
import { compiled } from '../support/compiled.ts';

const program = await compiled('test/support/unmade-child.ts');

test.each([
  ['throws', 'E2BIG'],
  ['later', 'ENOENT'],
])(
  '[SV16] a process that cannot be made is one that ended, in a later turn, with why, and to signal it is to signal nobody: Node %s',
  async (how, code) => {
    const child = spawn(process.execPath, [program, how], { detached: true, stdio: ['ignore', 'pipe', 'inherit'] });
    const said = text(child.stdout);
    const exit = await new Promise((resolve) => child.once('close', (...exited) => resolve(exited)));
    expect(exit).toEqual([0, null]);
    expect(JSON.parse(await said)).toMatchObject({ pid: null, code: null, signal: null, err: { code }, isLater: true });
  },
);
