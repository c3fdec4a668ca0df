import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { expect, onTestFinished, test } from 'vitest';
import { documentsIn } from '../../src/adapters/import-files.ts';

test('[IM4] a file is read under the name it has; one whose name says no id, or the id of another, is refused alone', async () => {
  const folder = await mkdtemp(join(tmpdir(), 'atrium-folder-'));
  onTestFinished(() => rm(folder, { recursive: true, force: true }));
  const names = ['100%.yjs', 'a%2Fb.yjs', 'my doc.yjs', 'my%20doc.yjs', 'plain.yjs', 'README.md'];
  for (const name of names) await writeFile(join(folder, name), name);
  const documents = documentsIn(folder);
  const refused: string[] = [];
  expect(await documents.ids((name, why) => refused.push(`${name}: ${why}`))).toEqual(['a/b', 'my doc', 'plain']);
  expect(refused).toEqual([
    '100%.yjs: the name is not URL-encoded; a % that stands for itself is written %25',
    'my%20doc.yjs: the file my doc.yjs has the same id',
  ]);
  expect(Buffer.from(await documents.read('my doc')).toString()).toBe('my doc.yjs');
  expect(Buffer.from(await documents.read('a/b')).toString()).toBe('a%2Fb.yjs');
});
