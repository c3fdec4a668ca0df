import { expect, test } from 'vitest';
import {
  ANSWER_CHARACTERS_MAX,
  ANSWERS_CHARACTERS_MAX,
  REQUEST_AGE_MS_MAX,
  REQUESTS_MAX,
  RecentRequests,
} from '../../src/room/recent-requests.ts';
import { RequestRing } from '../../src/room/request-ring.ts';

const decided = (id: string, atMs = 0, answer: string | null = null) => ({ id, digest: `of ${id}`, atMs, answer });

/** What another room would know. */
function kept(requests: RecentRequests) {
  const ring = new RequestRing(REQUESTS_MAX);
  const { slots, answers } = requests.stored();
  ring.restore(slots);
  return { entries: ring.all(), answers: new Map(answers) };
}

test('[ID1] a room knows its last 10,000 requests, and forgets the oldest first', () => {
  const requests = new RecentRequests();
  const many = 3 * REQUESTS_MAX;
  for (let count = 0; count < many; count += 1) {
    requests.add(decided(String(count)));
    if (count >= REQUESTS_MAX && requests.find(String(count - REQUESTS_MAX + 1), 0) === null)
      throw new Error(`forgot too much at ${count}`);
  }
  expect(requests.find('0', 0)).toBeNull();
  expect(requests.find(String(many - 2 * REQUESTS_MAX), 0)).toBeNull();
  expect(requests.find(String(many - 1), 0)).toMatchObject({ digest: `of ${many - 1}`, answer: null });
  const ids = kept(requests).entries.map(({ id }) => Number(id));
  expect(ids).toEqual(Array.from({ length: REQUESTS_MAX }, (_, index) => many - REQUESTS_MAX + index));
});

test('[ID2] a request is known for 24 hours, and then neither known nor kept', () => {
  const requests = new RecentRequests();
  requests.add(decided('a', 1_000));
  requests.add(decided('b', 2_000));
  expect(requests.find('a', 1_000 + REQUEST_AGE_MS_MAX)).not.toBeNull();
  expect(requests.find('a', 1_001 + REQUEST_AGE_MS_MAX)).toBeNull();
  requests.add(decided('c', 1_001 + REQUEST_AGE_MS_MAX));
  expect(kept(requests).entries.map(({ id }) => id)).toEqual(['b', 'c']);
});

test('[ID2] an answer goes with its request', () => {
  const requests = new RecentRequests();
  requests.add(decided('a', 0, 'its answer'));
  requests.add(decided('b', REQUEST_AGE_MS_MAX + 1));
  expect([...kept(requests).answers]).toEqual([]);
});

test('[ID2] a key used again a day later is a new request', () => {
  const requests = new RecentRequests();
  requests.add(decided('a', 0, 'old'));
  requests.add({ id: 'a', digest: 'another', atMs: REQUEST_AGE_MS_MAX + 1, answer: null });
  expect(kept(requests)).toEqual({ entries: [{ id: 'a', digest: 'another', atMs: REQUEST_AGE_MS_MAX + 1 }], answers: new Map() });
});

test('[ID3] answers that must be kept are bounded one by one and together; the request stays known without its answer', () => {
  const requests = new RecentRequests();
  const long = 'x'.repeat(ANSWER_CHARACTERS_MAX);
  requests.add(decided('too long', 0, `${long}x`));
  expect(requests.find('too long', 0)).toMatchObject({ digest: 'of too long', answer: null });
  const fitting = ANSWERS_CHARACTERS_MAX / ANSWER_CHARACTERS_MAX;
  for (let count = 0; count <= fitting; count += 1) requests.add(decided(String(count), 0, long));
  expect(requests.find('0', 0)).toMatchObject({ digest: 'of 0', answer: null });
  expect(requests.find(String(fitting), 0)!.answer).toBe(long);
  const characters = [...kept(requests).answers.values()].reduce((sum, answer) => sum + answer.length, 0);
  expect([characters > 0, characters <= ANSWERS_CHARACTERS_MAX]).toEqual([true, true]);
  requests.add(decided('one more', 0, long));
  expect(requests.find('one more', 0)!.answer).toBe(long);
});

test('[ID1] what is stored makes the same again', () => {
  const requests = new RecentRequests();
  requests.add(decided('a', 1, '{"ops":[]}'));
  requests.add(decided('b', 2));
  const again = new RecentRequests();
  again.restore(requests.stored());
  expect(again.stored()).toEqual(requests.stored());
  expect(again.find('a', 2)).toMatchObject({ digest: 'of a', answer: '{"ops":[]}' });
});
