import { expect, test } from 'vitest';
import { LongAnswers } from '../../../src/kernel/transport/long-answers.ts';
import type { HttpResponse } from '../../../src/kernel/transport/server.ts';

const MEGABYTE = 1024 * 1024;
const answer = (body: HttpResponse['body']): HttpResponse => ({ status: 200, body });
const iteratorOf = ({ body }: HttpResponse) => (body as AsyncIterable<Uint8Array>)[Symbol.asyncIterator]();

async function read(response: HttpResponse): Promise<Uint8Array> {
  const pieces: Uint8Array[] = [];
  for await (const piece of response.body as AsyncIterable<Uint8Array>) pieces.push(piece);
  return Buffer.concat(pieces);
}

test('[LA1] a long answer leaves as it is, in pieces; a short one, or one that comes as it is read, is not touched', async () => {
  const answers = new LongAnswers();
  const bytes = Uint8Array.from({ length: MEGABYTE }, (_, at) => at % 251);
  for (const body of [bytes, 'ä'.repeat(MEGABYTE), [bytes.subarray(0, 300_000), bytes.subarray(300_000)]]) {
    const leaving = answers.leaving(answer(body));
    const whole = typeof body === 'string' ? Buffer.from(body) : bytes;
    expect([leaving.size, Buffer.compare(await read(leaving), whole), answers.bytes]).toEqual([whole.length, 0, 0]);
  }
  const stream = (async function* () {
    yield bytes;
  })();
  for (const body of [undefined, '', 'short', bytes.subarray(0, 9), [bytes.subarray(0, 9)], [], stream]) {
    const response = answer(body);
    expect(answers.leaving(response)).toBe(response);
  }
});

test('[LA2] what leaves holds 256 MiB at most, what several read counted once; one that is alone may be longer', async () => {
  const answers = new LongAnswers();
  const iterator = iteratorOf(answers.leaving(answer(new Uint8Array(300 * MEGABYTE))));
  await iterator.next();
  const refused = { code: 'WORKER_OVERLOADED', status: 503 };
  expect(() => answers.leaving(answer(new Uint8Array(MEGABYTE)))).toThrow(expect.objectContaining(refused));
  await iterator.return!();
  await iterator.return!(); // changes nothing more
  expect(answers.bytes).toBe(0);

  const shared = new Uint8Array(200 * MEGABYTE);
  const readers = [shared, shared.subarray(0, 150 * MEGABYTE), shared].map((body) => iteratorOf(answers.leaving(answer(body))));
  expect(answers.bytes).toBe(200 * MEGABYTE);
  expect(() => answers.leaving(answer(new Uint8Array(57 * MEGABYTE)))).toThrow(expect.objectContaining(refused));
  for (const reader of readers.slice(1)) await reader.return!();
  expect(answers.bytes).toBe(200 * MEGABYTE);
  await readers[0]!.return!();
  expect(answers.bytes).toBe(0);
});
