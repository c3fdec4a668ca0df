/** What `npm run import` says of its flags, and of a server that does not answer. */
import { expect, test } from 'vitest';
import { readImportPlan } from '../../src/app/import/plan.ts';
import { restClient } from '../../src/app/import/rest-client.ts';
import { type Clock, systemClock } from '../../src/base/clock.ts';

test.each([
  ['a flag that is none', ['--too', 'http://localhost:8080'], /^Unknown option '--too'; --help says what there is\.$/],
  ['a word', ['http://localhost:8080'], /^Unexpected argument 'http:.*; --help says what there is\.$/],
  ['a flag without its value', ['--to'], /^Option '--to <value>' argument missing; --help says what there is\.$/],
])('[IM5] %s is refused with one sentence that names --help', (_, args, sentence) => {
  expect(() => readImportPlan(args, {})).toThrow(sentence);
});

test('[IM6] why a server is waited for is said once', async () => {
  const impatient: Clock = Object.assign(Object.create(systemClock), {
    after: (_: number, act: () => void) => systemClock.after(0, act),
  });
  const said: string[] = [];
  const client = restClient({ url: 'http://127.0.0.1:1', secretKey: 'sk', onWait: (sentence) => said.push(sentence) }, impatient);
  await expect(client.json('GET', '/v2/rooms')).rejects.toThrow('was not answered');
  await expect(client.json('GET', '/v2/rooms')).rejects.toThrow('was not answered');
  expect(said).toEqual([expect.stringMatching(/^Waiting for http:\/\/127\.0\.0\.1:1: .+\.$/)]);
});
