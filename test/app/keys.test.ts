import { rm } from 'node:fs/promises';
import { expect, onTestFinished, test } from 'vitest';
import { keysFor } from '../../src/app/keys.ts';
import { welcomeText } from '../../src/app/welcome.ts';
import { readSettings } from '../../src/config.ts';
import { aDataDir } from '../support/postgres.ts';

const OWN = { SECRET_KEY: 'sk_a_key_of_their_own_0123', PUBLIC_KEY: 'pk_a_key_of_their_own_0123' };
const CLUSTER = { REDIS_URL: 'redis://redis:6379', DATABASE_URL: 'postgres://database', S3_BUCKET: 'atrium' };

async function keys(settings: Readonly<Record<string, string>>) {
  const folder = await aDataDir('atrium-keys-');
  onTestFinished(() => rm(folder, { recursive: true, force: true }));
  return keysFor(readSettings({ DATA_DIR: folder, ...settings }));
}

test.each([
  ['production, both missing', { NODE_ENV: 'production' }],
  ['a cluster, both missing', CLUSTER],
  ['a cluster, one missing', { ...CLUSTER, SECRET_KEY: OWN.SECRET_KEY }],
  ['a cluster, the other one a development key', { ...CLUSTER, ...OWN, OTHER_SECRET_KEY: 'sk_dev_0123456789abcdef' }],
  ['a cluster, a development key', { ...CLUSTER, ...OWN, PUBLIC_KEY: 'pk_dev_0123456789' }],
])('[CG3] missing and development keys refuse to start in production and with REDIS_URL: %s', async (_, settings) => {
  await expect(keys(settings)).rejects.toMatchObject({
    name: 'StartRefused',
    message: expect.stringMatching(/^[^.\n]*SECRET_KEY[^.\n]*PUBLIC_KEY[^.\n]*\.$/),
  });
});

test('[CG3] keys of their own serve anywhere; elsewhere missing ones are made once', async () => {
  const own = { secretKeys: [OWN.SECRET_KEY], publicKey: OWN.PUBLIC_KEY, made: { secretKey: false, publicKey: false } };
  expect(await keys({ ...CLUSTER, ...OWN })).toEqual(own);
  expect(await keys({ NODE_ENV: 'production', ...OWN })).toEqual(own);
  const OTHER_SECRET_KEY = 'sk_while_keys_are_changed';
  expect((await keys({ ...OWN, OTHER_SECRET_KEY })).secretKeys).toEqual([OWN.SECRET_KEY, OTHER_SECRET_KEY]);
  expect(await keys({})).toMatchObject({
    secretKeys: [expect.stringMatching(/^sk_dev_/)],
    made: { secretKey: true, publicKey: true },
  });
});

test.each([
  ['neither', {}],
  ['the secret key', { SECRET_KEY: OWN.SECRET_KEY }],
  ['the public key', { PUBLIC_KEY: OWN.PUBLIC_KEY }],
  ['both', OWN],
  ['keys like those of development', { SECRET_KEY: 'sk_dev_0123456789abcdef', PUBLIC_KEY: 'pk_dev_0123456789' }],
])('[CG7] at the start only keys that were made are printed: %s given', async (_, settings: Partial<typeof OWN>) => {
  const served = await keys(settings);
  const text = welcomeText({ url: 'http://localhost:8080', ...served }, { hasDemo: true, hasConsole: true });
  expect(text.includes(served.secretKeys[0])).toBe(settings.SECRET_KEY === undefined);
  expect(text.includes(served.publicKey)).toBe(settings.PUBLIC_KEY === undefined);
  expect(text.includes('$SECRET_KEY')).toBe(settings.SECRET_KEY !== undefined);
  expect(text.includes('$PUBLIC_KEY')).toBe(settings.PUBLIC_KEY !== undefined);
});
