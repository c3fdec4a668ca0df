import { expect, test } from 'vitest';
import { type DemoDeps, demoRoutes } from '../../../src/features/demo/routes.ts';
import { callerOf, refused } from '../call.ts';

const issued: Parameters<DemoDeps['issueToken']>[0][] = [];
const call = callerOf(demoRoutes({ issueToken: async (request) => `token ${issued.push(request)}` }));
const ask = (json: unknown) => call('POST /demo/token', { json, bearer: null });
const visitor = { userId: 'brisk-otter-7f3k', color: '#0e7490' };

test('[DM1] anybody gets a token under a made-up name, for the rooms of the demo alone', async () => {
  expect(await ask(visitor)).toMatchObject({ status: 200, json: { token: 'token 1' } });
  expect(issued).toEqual([
    {
      userId: visitor.userId,
      permissions: { demo: ['*:write'], 'demo:*': ['*:write'] },
      userInfo: { name: 'Brisk Otter', color: '#0e7490' },
    },
  ]);
});

test.each([
  ['a name of one word', { ...visitor, userId: 'otter' }],
  ['an e-mail address', { ...visitor, userId: 'ann@example.com' }],
  ['a word of 13 letters', { ...visitor, userId: 'abcdefghijklm-otter-7f3k' }],
  ['a colour by name', { ...visitor, color: 'red' }],
  ['no colour', { userId: visitor.userId }],
  ['permissions', { ...visitor, permissions: { '*': ['*:write'] } }],
])('[DM2] %s is refused', async (_, json) => {
  expect(refused(await ask(json))).toContain('422 UNPROCESSABLE_ENTITY');
});
