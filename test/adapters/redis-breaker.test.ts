import { expect, test } from 'vitest';
import { RedisBreaker } from '../../src/adapters/redis-breaker.ts';
import { type ManualClock, manualClock } from '../support/manual-clock.ts';

const never = (): Promise<never> => new Promise(() => undefined);
const answer = async (): Promise<string> => 'answer';
const refuse = (): Promise<never> => Promise.reject(new Error('no'));

function deferred(): { promise: Promise<string>; resolve(value: string): void } {
  let resolve: (value: string) => void = () => undefined;
  const promise = new Promise<string>((settle) => {
    resolve = settle;
  });
  return { promise, resolve };
}

/** A breaker whose last caller has waited in vain. */
async function aBrokenOne(): Promise<{ breaker: RedisBreaker; clock: ManualClock }> {
  const clock = manualClock();
  const breaker = new RedisBreaker({ clock });
  const outcome = expect(breaker.run(never)).rejects.toThrow('did not answer within 250 ms');
  clock.advance(250);
  clock.turn();
  await outcome;
  return { breaker, clock };
}

test('[RD10] a call waits 250 ms, not less, and a late answer that is there in the end counts', async () => {
  const clock = manualClock();
  const breaker = new RedisBreaker({ clock });
  const [early, late] = [deferred(), deferred()];
  const calls = [breaker.run(() => early.promise), breaker.run(() => late.promise)];
  clock.advance(249);
  clock.turn();
  early.resolve('early');
  clock.advance(1);
  late.resolve('late');
  await Promise.allSettled(calls);
  clock.turn();
  expect(await Promise.all(calls)).toEqual(['early', 'late']);
});

test('[RD11] after a call without an answer the next fail at once for 500 ms; then one asks, and the others fail until it has its answer', async () => {
  const { breaker, clock } = await aBrokenOne();
  await expect(breaker.run(answer)).rejects.toThrow('a moment ago');
  clock.advance(499);
  await expect(breaker.run(answer)).rejects.toThrow('a moment ago');
  clock.advance(1);
  const probe = deferred();
  const asking = breaker.run(() => probe.promise);
  await expect(breaker.run(answer)).rejects.toThrow('a moment ago');
  probe.resolve('answer');
  expect(await asking).toBe('answer');
  expect(await breaker.run(answer)).toBe('answer');
});

test('[RD11] a probe without an answer begins the pause again; an error is an answer and ends it', async () => {
  const { breaker, clock } = await aBrokenOne();
  clock.advance(500);
  const asking = expect(breaker.run(never)).rejects.toThrow('within 250 ms');
  clock.advance(250);
  clock.turn();
  await asking;
  clock.advance(499);
  await expect(breaker.run(answer)).rejects.toThrow('a moment ago');
  clock.advance(1);
  await expect(breaker.run(refuse)).rejects.toThrow('no');
  expect(await breaker.run(answer)).toBe('answer');
});

test('[RD12] calls that wait are bounded in number; each that ends makes room', async () => {
  const breaker = new RedisBreaker({ clock: manualClock() });
  const [first, rest] = [deferred(), deferred()];
  const waiting = [breaker.run(() => first.promise), ...Array.from({ length: 9_999 }, () => breaker.run(() => rest.promise))];
  await expect(breaker.run(answer)).rejects.toThrow('too many calls');
  first.resolve('first');
  await waiting[0];
  expect(await breaker.run(answer)).toBe('answer');
  rest.resolve('rest');
  await Promise.all(waiting);
});
