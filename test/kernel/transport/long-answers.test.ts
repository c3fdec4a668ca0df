import { expect, test } from 'vitest';
import { LongAnswers } from '../../../src/kernel/transport/long-answers.ts';
import type { HttpResponse } from '../../../src/kernel/transport/server.ts';

const MEGABYTE = 1024 * 1024;
const answer = (body: HttpResponse['body']): HttpResponse => ({ status: 200, body });
const refused = expect.objectContaining({ code: 'WORKER_OVERLOADED', status: 503 });

test('[LA1] an answer to a read leaves as it is; a short one, or one that comes as it is read, is not counted', () => {
  const answers = new LongAnswers();
  const bytes = new Uint8Array(MEGABYTE);
  for (const body of [bytes, 'ä'.repeat(MEGABYTE), [bytes.subarray(0, 300_000), bytes.subarray(300_000)]]) {
    const leaving = answers.leaving(answer(body));
    expect(leaving).toEqual({ ...answer(body), over: expect.any(Function) });
    expect(leaving.body).toBe(body);
    leaving.over!();
  }
  const stream = (async function* () {
    yield bytes;
  })();
  for (const body of [undefined, '', 'short', bytes.subarray(0, 9), [bytes.subarray(0, 9)], [], stream]) {
    const response = answer(body);
    expect(answers.leaving(response)).toBe(response);
  }
});

test('[LA2] what leaves holds 256 MiB at most, what several read counted once; one that is alone may be longer', () => {
  const answers = new LongAnswers();
  const alone = answers.leaving(answer(new Uint8Array(300 * MEGABYTE)));
  expect(() => answers.leaving(answer(new Uint8Array(MEGABYTE)))).toThrow(refused);
  alone.over!();

  const shared = new Uint8Array(200 * MEGABYTE);
  const readers = [shared, shared.subarray(0, 150 * MEGABYTE), shared].map((body) => answers.leaving(answer(body)));
  expect(() => answers.leaving(answer(new Uint8Array(57 * MEGABYTE)))).toThrow(refused);
  answers.leaving(answer(new Uint8Array(56 * MEGABYTE))).over!();
  for (const { over } of readers.slice(1)) over!();
  expect(() => answers.leaving(answer(new Uint8Array(57 * MEGABYTE)))).toThrow(refused);
  readers[0]!.over!();
  answers.leaving(answer(new Uint8Array(57 * MEGABYTE))).over!();
});
