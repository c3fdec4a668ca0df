import { readFileSync } from 'node:fs';
import { expect, test } from 'vitest';
import { nodeRefusal } from '../../src/base/node-version.ts';

test.each([
  ['18.20.8', 'refused'],
  ['20.14.0', 'refused'],
  ['20.15.0', 'taken'],
  ['21.7.3', 'refused'],
  ['22.1.0', 'refused'],
  ['22.2.0', 'taken'],
  ['23.0.0', 'taken'],
  ['24.1.0', 'taken'],
])('[CL6] Node %s is %s', (version, outcome) => {
  const { engines } = JSON.parse(readFileSync('package.json', 'utf8')) as { engines: { node: string } };
  expect(engines.node).toBe('^20.15 || >=22.2');
  const [major, minor] = version.split('.');
  expect(nodeRefusal(version)).toBe(
    outcome === 'taken' ? null : `Atrium needs Node 20.15 or later (of 22: 22.2; not 21); this is ${major}.${minor}.`,
  );
});

test.each(['src/main.ts', 'src/import.ts'])('[CL6] %s looks before it imports what an older Node cannot read', (path) => {
  const text = readFileSync(path, 'utf8');
  expect([...text.matchAll(/^import .*$/gm)].map(([line]) => line)).toEqual([
    "import { nodeRefusal } from './base/node-version.ts';",
  ]);
  expect(text.indexOf('nodeRefusal(process')).toBeLessThan(text.indexOf('await import('));
  expect(readFileSync('src/base/node-version.ts', 'utf8')).not.toMatch(/^import /m);
});
