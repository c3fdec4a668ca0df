/** What must never be in the log, as a process would write it. */
import { execFileSync } from 'node:child_process';
import { expect, test } from 'vitest';
import { Away } from '../../src/base/away.ts';
import { AppError } from '../../src/base/errors.ts';
import { makeLog } from '../../src/base/observe.ts';
import { manualClock } from '../support/manual-clock.ts';

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

/** A log whose lines can be read, without their times. */
function aLog() {
  const clock = manualClock();
  const lines: Record<string, unknown>[] = [];
  const write = (line: string): void => {
    const { time: _, ...fields } = JSON.parse(line) as Record<string, unknown>;
    lines.push(fields);
  };
  return { clock, lines, log: makeLog('info', { write }, clock) };
}

test('[LG4] that the database does not answer is said by each phrase once in ten seconds, with how often it was not said, why, and no stack', () => {
  const { clock, lines, log } = aLog();
  const away = new AppError('DATABASE_UNAVAILABLE', { sqlState: '53100', reason: 'disk full' });
  const err = { code: 'DATABASE_UNAVAILABLE', sqlState: '53100', reason: 'disk full' };
  const child = log.child({ worker: 1 });
  const sayAll = (): void => {
    for (let time = 0; time < 3; time += 1) {
      log.warn({ err: away, entries: 7 }, 'append waits for the database');
      child.error({ err: away }, 'outbox not read');
    }
  };
  sayAll();
  const first = [
    { level: 40, err, entries: 7, msg: 'append waits for the database' },
    { level: 50, worker: 1, err, msg: 'outbox not read' },
  ];
  expect(lines.splice(0)).toEqual(first);
  clock.advance(9_999);
  sayAll();
  expect(lines.splice(0)).toEqual([]);
  clock.advance(1);
  sayAll();
  expect(lines).toEqual(first.map((line) => ({ ...line, leftOut: 5 })));
});

test('[LG4] any other error is said each time, with its stack', () => {
  const { lines, log } = aLog();
  for (let time = 0; time < 2; time += 1) log.error({ err: new AppError('ROOM_MOVED') }, 'room failed');
  for (let time = 0; time < 2; time += 1) log.info('plain');
  expect(lines.map(({ msg }) => msg)).toEqual(['room failed', 'room failed', 'plain', 'plain']);
  expect(lines[0]!.err).toMatchObject({ stack: expect.stringContaining('observe.test') });
});

test('[LG5] what is away is said once, and that it is back once nothing has failed for two seconds', () => {
  const { clock, lines, log } = aLog();
  const health = new Away({ clock, log, away: 'database away', back: 'database back' });
  health.answered();
  for (let time = 0; time < 3; time += 1) {
    clock.advance(1_999);
    health.answered();
    health.failed(new AppError('DATABASE_UNAVAILABLE', { reason: 'refused' }));
  }
  expect(lines.splice(0)).toEqual([
    { level: 40, err: { code: 'DATABASE_UNAVAILABLE', reason: 'refused' }, msg: 'database away' },
  ]);
  clock.advance(2_000);
  health.answered();
  health.answered();
  expect(lines).toEqual([{ level: 30, awayMs: 5_998, msg: 'database back' }]);
});
