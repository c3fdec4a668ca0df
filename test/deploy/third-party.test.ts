import { expect, test } from 'vitest';
import { thirdParties, thirdPartyPage } from '../support/third-party.ts';

const ALLOWED = new Set([
  'MIT',
  'MIT-0',
  'ISC',
  'BSD-2-Clause',
  'BSD-3-Clause',
  'Apache-2.0',
  '0BSD',
  'BlueOak-1.0.0',
  'CC0-1.0',
  'Unlicense',
]);

test('[TP1] all that comes with the server is listed, and under a licence that lets it come', async () => {
  const parties = thirdParties();
  expect(parties.map(({ name }) => name)).toEqual(expect.arrayContaining(['pg', 'yjs', 'react', 'uWebSockets.js (uws-pack)']));
  const isAllowed = (licence: string): boolean =>
    licence
      .replace(/[()]/g, '')
      .split(' OR ')
      .some((one) => one.split(' AND ').every((part) => ALLOWED.has(part)));
  expect(parties.filter(({ licence }) => !isAllowed(licence))).toEqual([]);
  await expect(thirdPartyPage()).toMatchFileSnapshot('../../THIRD-PARTY.md');
});
