import { rm } from 'node:fs/promises';
import { expect, onTestFinished, test } from 'vitest';
import { keysFor } from '../../src/app/keys.ts';
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
  ['a cluster, a development key', { ...CLUSTER, ...OWN, PUBLIC_KEY: 'pk_dev_0123456789' }],
])('[CG3] missing and development keys refuse to start in production and with REDIS_URL: %s', async (_, settings) => {
  await expect(keys(settings)).rejects.toMatchObject({
    name: 'StartRefused',
    message: expect.stringMatching(/^[^.\n]*SECRET_KEY[^.\n]*PUBLIC_KEY[^.\n]*\.$/),
  });
});

test('[CG3] keys of their own serve anywhere; elsewhere missing ones are made once', async () => {
  const own = { secretKey: OWN.SECRET_KEY, publicKey: OWN.PUBLIC_KEY, hasDevelopmentKeys: false };
  expect(await keys({ ...CLUSTER, ...OWN })).toEqual(own);
  expect(await keys({ NODE_ENV: 'production', ...OWN })).toEqual(own);
  expect(await keys({})).toMatchObject({ secretKey: expect.stringMatching(/^sk_dev_/), hasDevelopmentKeys: true });
});
