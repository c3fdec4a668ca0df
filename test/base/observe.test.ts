/** What must never be in the log, as a process would write it. */
import { execFileSync } from 'node:child_process';
import { expect, test } from 'vitest';

const SCRIPT = `
import { makeLog } from './src/base/observe.ts';
const log = makeLog('info', process.stdout);
const secret = 'SECRET';
log.info({ token: secret, authorization: secret, secretKey: secret, password: secret, cookie: secret }, 'own fields');
log.info({ headers: { authorization: secret, cookie: secret }, settings: { SECRET_KEY: secret, DATABASE_URL: secret, REDIS_URL: secret } }, 'below');
log.child({ token: secret, roomId: 'r' }).warn({ request: { headers: { authorization: secret } } }, 'of a child');
const error = Object.assign(new Error('connect failed'), { config: { password: secret }, token: secret });
log.error({ err: error, requestId: 'q' }, 'with an error');
`;

test('[LG1] credentials in the usual fields never reach the log, ids do', () => {
  const output = execFileSync(process.execPath, ['--import', 'tsx', '--input-type=module', '-e', SCRIPT], { encoding: 'utf8' });
  const lines = output.trim().split('\n');
  expect(lines).toHaveLength(4);
  expect(output).not.toContain('SECRET"');
  expect(output).toContain('[removed]');
  expect(output).toContain('"roomId":"r"');
  expect(output).toContain('"requestId":"q"');
});
