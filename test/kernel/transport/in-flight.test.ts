import { expect, test } from 'vitest';
import { countInFlight } from '../../../src/kernel/transport/in-flight.ts';
import type { HttpRequest, HttpResponse } from '../../../src/kernel/transport/server.ts';

const turn = (): Promise<void> => new Promise((resolve) => setImmediate(resolve));

test('[TR45] a drain waits for the requests that had come, not for later ones, and for those that fail as well', async () => {
  const ends: { answer(): void; fail(): void }[] = [];
  const { handle, settled } = countInFlight(
    () =>
      new Promise<HttpResponse>((resolve, reject) => {
        ends.push({ answer: () => resolve({ status: 200 }), fail: () => reject(new Error('broken')) });
      }),
  );
  const request = {} as HttpRequest;
  await settled();
  const [one, two] = [handle(request), handle(request)];
  const order: string[] = [];
  const first = settled().then(() => order.push('first'));
  const later = handle(request);
  const second = settled().then(() => order.push('second'));
  ends[0]!.answer();
  await one;
  await turn();
  expect(order).toEqual([]);
  ends[1]!.fail();
  await expect(two).rejects.toThrow('broken');
  await first;
  await turn();
  expect(order).toEqual(['first']);
  ends[2]!.answer();
  await Promise.all([later, second]);
  expect(order).toEqual(['first', 'second']);
  await settled();
});
