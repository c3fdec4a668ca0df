import { expect, test } from 'vitest';
import { parseRedisUrl } from '../../src/adapters/redis-url.ts';
import { StartRefused } from '../../src/base/start-refused.ts';

const open = { username: null, password: null, tls: 'off' };

test.each([
  ['redis://h', { ...open, kind: 'single', host: { host: 'h', port: 6379 }, database: 0 }],
  ['rediss://[::1]:7000/', { ...open, tls: 'on', kind: 'single', host: { host: '::1', port: 7000 }, database: 0 }],
  [
    'redis://me:p%40ss%2F%25@redis.example:6380/3',
    { tls: 'off', username: 'me', password: 'p@ss/%', kind: 'single', host: { host: 'redis.example', port: 6380 }, database: 3 },
  ],
  [
    'redis://:a:b@h',
    { tls: 'off', username: null, password: 'a:b', kind: 'single', host: { host: 'h', port: 6379 }, database: 0 },
  ],
  [
    'redis+sentinel://a,b:26380/main%20one',
    {
      ...open,
      kind: 'sentinel',
      sentinels: [
        { host: 'a', port: 26379 },
        { host: 'b', port: 26380 },
      ],
      master: 'main one',
      sentinelLogin: { username: null, password: null },
    },
  ],
  [
    'rediss+sentinel://u:p@a/main?sentinelUsername=s&sentinelPassword=%3D1',
    {
      tls: 'on',
      username: 'u',
      password: 'p',
      kind: 'sentinel',
      sentinels: [{ host: 'a', port: 26379 }],
      master: 'main',
      sentinelLogin: { username: 's', password: '=1' },
    },
  ],
  [
    'redis+cluster://:p@10.0.0.1:7000,10.0.0.2:7001/0',
    {
      tls: 'off',
      username: null,
      password: 'p',
      kind: 'cluster',
      hosts: [
        { host: '10.0.0.1', port: 7000 },
        { host: '10.0.0.2', port: 7001 },
      ],
    },
  ],
  ['rediss+cluster://h', { ...open, tls: 'on', kind: 'cluster', hosts: [{ host: 'h', port: 6379 }] }],
])('[RD20] %s is understood', (url, place) => {
  expect(parseRedisUrl(url)).toEqual(place);
});

test.each([
  ['http://h', 'is no URL like'],
  ['redis://', 'is no URL like'],
  ['redis://:secret@', 'is no URL like'],
  ['redis://:secret/@h', 'not of the form host:port'],
  ['redis://secret?x@h', 'a parameter that is unknown'],
  ['redis://:se#secret@h', 'is no URL like'],
  ['redis+sentinel://:secret@h', 'needs the name of the master'],
  ['redis+sentinel://h/', 'needs the name of the master'],
  ['redis://:secret@h,i', 'names several hosts'],
  ['redis+cluster://:secret@h/1', 'has none but 0'],
  ['redis://h/one', 'database that is no number'],
  ['redis://h:0', 'not of the form host:port'],
  ['redis://h:65536', 'not of the form host:port'],
  ['redis+cluster://h:1,,i:2', 'not of the form host:port'],
  ['redis://secret@h', 'a user without a password'],
  ['redis://:%secret@h', 'begins no percent-encoding'],
  ['redis://h?db=secret', 'known: none'],
  ['redis+sentinel://h/m?sentinelUsername=secret', 'without a sentinelPassword'],
])('[RD21] %s is refused in one sentence without the password', (url, why) => {
  const attempt = (): unknown => parseRedisUrl(url);
  expect(attempt).toThrow(StartRefused);
  expect(attempt).toThrow(why);
  expect(attempt).toThrow(/^REDIS_URL [^.]*\.$/);
  expect(attempt).not.toThrow('secret');
});
