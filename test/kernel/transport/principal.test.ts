import { expect, test } from 'vitest';
import { AppError } from '../../../src/base/errors.ts';
import type { Need } from '../../../src/kernel/transport/principal.ts';
import { bearerOf, makeAuthenticate } from '../../../src/kernel/transport/principal.ts';

const authenticate = makeAuthenticate({
  secretKeys: ['sk_right', 'sk_right_too'],
  publicKey: 'pk_right',
  async verifyToken(token) {
    if (token !== 'good.jwt') throw new AppError('INVALID_TOKEN');
    return { uid: 'alice' };
  },
  async verifyBackEndToken(token) {
    if (token !== 'back.end.jwt') throw new AppError('INVALID_TOKEN');
  },
});

async function asked(need: Need, authorization?: string): Promise<unknown> {
  try {
    return await authenticate({ headers: authorization === undefined ? {} : { authorization } }, need);
  } catch (error) {
    if (error instanceof AppError) return `${error.status} ${error.code}`;
    throw error;
  }
}

test.each([
  [undefined, '401 MISSING_SECRET_KEY'],
  ['', '401 MISSING_SECRET_KEY'],
  ['Bearer', '401 MISSING_SECRET_KEY'],
  ['Bearer ', '401 MISSING_SECRET_KEY'],
  ['Basic sk_right', '401 MISSING_SECRET_KEY'],
  ['sk_right', '401 MISSING_SECRET_KEY'],
  ['Bearer pk_right', '401 WRONG_KEY_USED'],
  ['Bearer pk_wrong', '401 WRONG_KEY_USED'],
  ['Bearer sk_wrong', '403 INVALID_SECRET_KEY'],
  ['Bearer sk_righ', '403 INVALID_SECRET_KEY'],
  ['Bearer sk_right2', '403 INVALID_SECRET_KEY'],
  ['Bearer good.jwt', '403 INVALID_SECRET_KEY'],
  ['Bearer sk_right, Bearer sk_right', '401 MISSING_SECRET_KEY'],
  ['Bearer sk_right', { kind: 'secret' }],
  ['bearer sk_right', { kind: 'secret' }],
  ['Bearer sk_right_too', { kind: 'secret' }],
  ['Bearer sk_right_to', '403 INVALID_SECRET_KEY'],
])('[RT1] for a route of the secret key the header %j gives %j', async (header, expected) => {
  expect(await asked('secret', header)).toEqual(expected);
});

test.each([
  [undefined, '401 MISSING_TOKEN'],
  ['Bearer bad.jwt', '401 INVALID_TOKEN'],
  ['Bearer pk_wrong', '403 INVALID_PUBLIC_KEY'],
  ['Bearer sk_wrong', '403 INVALID_SECRET_KEY'],
  ['Bearer sk_right', { kind: 'secret' }],
  ['Bearer pk_right', { kind: 'public' }],
  ['Bearer good.jwt', { kind: 'user', token: { uid: 'alice' } }],
])('[RT2] for a route of users the header %j gives %j', async (header, expected) => {
  expect(await asked('room:read', header)).toEqual(expected);
});

test('[RT2] a route that needs nothing asks nobody', async () => {
  expect(await asked('none', 'Bearer sk_wrong')).toEqual({ kind: 'none' });
});

test('[RT1] a bearer has no spaces in it', () => {
  expect(bearerOf({ authorization: 'Bearer  a ' })).toBe('a');
  expect(bearerOf({ authorization: 'Bearer a b' })).toBeNull();
});

test.each([
  [undefined, '401 MISSING_SECRET_KEY'],
  ['Basic sk_right', '401 MISSING_SECRET_KEY'],
  ['Bearer pk_right', '401 WRONG_KEY_USED'],
  ['Bearer sk_wrong', '403 INVALID_SECRET_KEY'],
  ['Bearer good.jwt', '401 INVALID_TOKEN'],
  ['Bearer sk_right', { kind: 'secret' }],
  ['Bearer back.end.jwt', { kind: 'secret' }],
])('[VO1] for a route of the first REST API the header %j gives %j', async (header, expected) => {
  expect(await asked('back end', header)).toEqual(expected);
});

test('[VO1] the token of the first REST API opens no other route', async () => {
  expect(await asked('secret', 'Bearer back.end.jwt')).toBe('403 INVALID_SECRET_KEY');
  expect(await asked('room:read', 'Bearer back.end.jwt')).toBe('401 INVALID_TOKEN');
});
