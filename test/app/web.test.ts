import { readFileSync } from 'node:fs';
import { expect, test } from 'vitest';
import { webRoutes } from '../../src/app/web.ts';
import { hasDemo, readSettings } from '../../src/config.ts';

const SECRET_KEY = 'sk_0123456789abcdef';

test.each([
  ['without a key of one\u2019s own there is', {}, true],
  ['with one there is not', { SECRET_KEY }, false],
  ['unless it is asked for', { SECRET_KEY, DEMO: 'true' }, true],
  ['and without one it can be refused', { DEMO: 'false' }, false],
])('[DM3] a demo with its tokens: %s', (_, environment, isThere) => {
  const settings = readSettings(environment);
  expect(hasDemo(settings)).toBe(isThere);
  expect(webRoutes(settings, { issueToken: async () => '' }).map(({ path }) => path)).toEqual(isThere ? ['/demo/token'] : []);
});

test('[DM9] what starts the server for people builds the pages first: their addresses are printed', () => {
  const { scripts } = JSON.parse(readFileSync('package.json', 'utf8')) as { scripts: Record<'build' | 'start' | 'dev', string> };
  expect(scripts.build).toMatch(/node src\/web\/build\.mjs/);
  expect(scripts.start).toMatch(/^npm run --silent build && /);
  expect(scripts.dev).toMatch(/^node src\/web\/build\.mjs && /);
});
