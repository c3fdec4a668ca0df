import { expect, test } from 'vitest';
import { asSessionId } from '../../src/base/ids.ts';
import { OP } from '../../src/protocol/storage-ops.ts';
import type { Change } from '../../src/room/early-ops.ts';
import type { Command } from '../../src/room/shapes.ts';
import { Unanswered } from '../../src/room/unanswered.ts';
import { manualClock } from '../support/manual-clock.ts';

/** A client over a new connection, as number 5 of its room; what the room hears of it, and which pings it is sent. */
function aClient() {
  const clock = manualClock();
  const heard: string[] = [];
  const pings: string[] = [];
  const refusals: string[] = [];
  const client = {
    id: asSessionId('w-1'),
    actor: 5,
    isBehind: false,
    sendNow: () => undefined,
    ping: (data: string): void => void pings.push(data),
    refuse: ({ code }: { code: string }): void => void refusals.push(code),
    pass: (commands: readonly Command[]): void => {
      for (const command of commands) hear(command as Change);
    },
  };
  const unanswered = new Unanswered(client, clock);
  const hear = (change: Change): void => {
    if (unanswered.passes(change)) heard.push(`${change.from}: ${change.ops.map(({ opId }) => opId).join(' ')}`);
  };
  return {
    ...{ clock, client, unanswered, pings, refusals },
    asks: () => unanswered.passes({ type: 'storage.fetch', from: client.id }),
    says: (...opIds: string[]) => {
      const ops = opIds.map((opId) => ({ type: OP.UPDATE_OBJECT, id: 'root', opId, data: {} }) as const);
      hear({ type: 'storage.change', from: client.id, ops });
    },
    storageLeaves: () => unanswered.left(unanswered.take([{ data: 'storage', droppable: false, restarts: true }])),
    answered: (...opIds: string[]) => unanswered.left([{ data: 'answer', droppable: false, answers: opIds }]),
    /** The ping ahead of Storage is answered, and the one behind it. */
    pongAhead: () => unanswered.ponged(pings.at(-2)!),
    pong: () => {
      for (const ping of pings.slice(-2)) unanswered.ponged(ping);
    },
    pass: (ms: number) => {
      clock.advance(ms);
      clock.turn();
    },
    news: () => heard.splice(0),
  };
}

test('[RJ19] what comes before Storage has arrived is not heard before it comes again behind what is older, and then once', () => {
  const { asks, says, storageLeaves, pong, pass, news } = aClient();
  asks();
  says('2:189');
  storageLeaves();
  says('5:190');
  pong();
  pass(9_999);
  expect(news()).toEqual([]);
  says('2:17', '2:79', '2:189', '5:190');
  says('5:191');
  pass(60_000);
  expect(news()).toEqual(['w-1: 2:17 2:79 2:189 5:190', 'w-1: 5:191']);
});

test('[RJ19] what comes behind the answer to a ping waits for 200 ms: it may be new, or all that there is, or still come again', () => {
  const calm = aClient();
  calm.asks();
  calm.storageLeaves();
  calm.pongAhead();
  calm.says('2:17', '2:79');
  calm.pong();
  calm.says('5:80');
  calm.pass(199);
  expect(calm.news()).toEqual([]);
  calm.pass(1);
  calm.says('5:81');
  expect(calm.news()).toEqual(['w-1: 2:17 2:79', 'w-1: 5:80', 'w-1: 5:81']);

  const busy = aClient();
  busy.asks();
  busy.storageLeaves();
  busy.pong();
  busy.says('5:190');
  busy.client.isBehind = true;
  busy.pass(1_000);
  expect(busy.news()).toEqual([]);
  busy.client.isBehind = false;
  busy.says('2:17', '5:190');
  busy.pass(1_000);
  expect(busy.news()).toEqual(['w-1: 2:17 5:190']);
});

test('[RJ19] an op that comes again alone, from the buffer of its client, does not stand for all of them', () => {
  const { asks, says, storageLeaves, pong, pass, news } = aClient();
  asks();
  storageLeaves();
  pong();
  says('2:17', '2:189');
  says('2:189', '5:190');
  expect(news()).toEqual([]);
  pass(200);
  expect(news()).toEqual(['w-1: 2:17 2:189', 'w-1: 2:189 5:190']);
});

test('[RJ19] where nothing can be older, nothing waits: behind the first op of a client, without Storage, and long after it', () => {
  const newcomer = aClient();
  newcomer.asks();
  newcomer.says('5:0', '5:1');
  newcomer.says('5:2');
  expect(newcomer.news()).toEqual(['w-1: 5:0 5:1', 'w-1: 5:2']);

  const blind = aClient();
  blind.says('5:7');
  expect(blind.news()).toEqual(['w-1: 5:7']);

  const late = aClient();
  late.asks();
  late.storageLeaves();
  late.pong();
  late.pass(200);
  late.says('5:190');
  expect(late.news()).toEqual(['w-1: 5:190']);

  const quiet = aClient();
  quiet.asks();
  quiet.storageLeaves();
  quiet.pass(10_000);
  quiet.says('5:190');
  expect(quiet.news()).toEqual(['w-1: 5:190']);
});

test('[RJ19] ops of an earlier connection that come before their client asks for Storage wait for it', () => {
  const { asks, says, storageLeaves, pong, news } = aClient();
  says('2:189');
  asks();
  storageLeaves();
  pong();
  says('2:17', '2:189');
  expect(news()).toEqual(['w-1: 2:17 2:189']);
});

test('[RJ20] what waits is heard by the next session when the room is lost, none of it before Storage has arrived from there', () => {
  const { client, unanswered, asks, says, storageLeaves, pong, pass, news } = aClient();
  asks();
  storageLeaves();
  pong();
  says('5:190');
  unanswered.end();
  client.id = asSessionId('w-2');
  unanswered.rejoined();
  pass(5_000);
  storageLeaves();
  pong();
  pass(9_999);
  expect(news()).toEqual([]);
  pass(1);
  expect(news()).toEqual(['w-2: 5:190']);
});

test('[RJ20] when the client leaves, only what was not to come again is heard', () => {
  const { unanswered, asks, says, storageLeaves, pong, news } = aClient();
  asks();
  storageLeaves();
  pong();
  says('2:17', '2:189');
  unanswered.heardLast();
  expect(news()).toEqual(['w-1: 2:17 2:189']);

  const gone = aClient();
  gone.asks();
  gone.says('2:189');
  gone.unanswered.heardLast();
  expect(gone.news()).toEqual([]);
});

test('[RJ21] after its room was lost a client is heard that has answered a ping behind Storage: what comes before may be of one that is gone', () => {
  const { unanswered, asks, says, storageLeaves, answered, pong, pass, news } = aClient();
  asks();
  says('5:0');
  storageLeaves();
  answered('5:0');
  unanswered.end();
  unanswered.rejoined();
  news();
  says('5:1');
  storageLeaves();
  says('5:2');
  pass(1_000);
  expect(news()).toEqual([]);
  pong();
  pass(0);
  says('5:3');
  expect(news()).toEqual(['w-1: 5:1', 'w-1: 5:2', 'w-1: 5:3']);
});

test('[RJ21] who does not answer within ten seconds has to come back over a new connection', () => {
  const { unanswered, asks, says, storageLeaves, answered, pass, news, refusals } = aClient();
  asks();
  says('5:0');
  answered('5:0');
  unanswered.end();
  unanswered.rejoined();
  storageLeaves();
  news();
  pass(20_000);
  says('5:1');
  pass(9_999);
  expect([news(), refusals]).toEqual([[], []]);
  pass(1);
  expect([news(), refusals]).toEqual([[], ['ROOM_MOVED']]);
});

test('[RJ19] more than a thousand messages that wait close their connection', () => {
  const { asks, says, refusals } = aClient();
  asks();
  for (let number = 1; number <= 1_000; number += 1) says(`2:${number}`);
  expect(refusals).toEqual([]);
  says('2:1001');
  expect(refusals).toEqual(['ROOM_OVERLOADED']);
});
