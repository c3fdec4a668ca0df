import { expect, test } from 'vitest';
import { CreateBody, WEBHOOK_EVENTS } from '../../../src/features/webhooks/endpoints/shapes.ts';
import { makeCheck } from '../../../src/kernel/transport/validate.ts';

test('[CB27] a webhook may be told of every event once; longer lists are refused by their length alone', () => {
  const check = makeCheck(CreateBody, 'The body');
  const body = (subscribedEvents: readonly string[]) => ({ url: 'https://example.com', subscribedEvents });
  expect(check(body(WEBHOOK_EVENTS))).toEqual(body(WEBHOOK_EVENTS));
  expect(() => check(body(['userLeft', 'userLeft']))).toThrow(
    "Value at key 'subscribedEvents' must not hold the same item twice.",
  );
  expect(() => check(body(Array(100_000).fill('userLeft')))).toThrow(
    `Value at key 'subscribedEvents' must have at most ${WEBHOOK_EVENTS.length} items.`,
  );
});
