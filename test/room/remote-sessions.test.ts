import { expect, test } from 'vitest';
import { AppError } from '../../src/base/errors.ts';
import { asSessionId, asWorkerAddress, type WorkerAddress } from '../../src/base/ids.ts';
import type { Message } from '../../src/kernel/cluster/bus.ts';
import { type Recipient, recipientOf } from '../../src/room/recipient.ts';
import { RemoteSessions } from '../../src/room/remote-sessions.ts';
import { manualClock } from '../support/manual-clock.ts';

const ids = (...names: string[]) => names.map(asSessionId);
const recipients = (...names: string[]) => ids(...names).map(recipientOf);

/** Two workers, the first of which owns rooms; what it sends arrives at the other's sessions. */
function twoWorkers() {
  const sent: { to: WorkerAddress; message: Message }[] = [];
  const link = { waitingBytes: 0 };
  const bus = {
    tell: (to: WorkerAddress, message: Message) => void sent.push({ to, message }),
    waitingBytes: () => link.waitingBytes,
  };
  const gone: string[] = [];
  const turns: (() => void)[] = [];
  const { after, advance } = manualClock();
  const clock = { soon: (task: () => void) => void turns.push(task), after };
  const onGone = (sessions: ReadonlySet<string>): void => void gone.push([...sessions].join(' '));
  const owner = new RemoteSessions({ bus, workerName: 'own-er', clock, onGone });
  const edge = new RemoteSessions({ bus, workerName: 'ed-ge', clock, onGone });
  const turn = (): void => {
    for (const task of turns.splice(0)) task();
  };
  const heard: unknown[] = [];
  const left = new Set<string>();
  const here = {
    has: (session: string) => !left.has(session),
    deliver(to: readonly Recipient[], frames: unknown) {
      heard.push(['deliver', to.map(({ id }) => id), frames]);
      return null;
    },
    closeSessions: (sessions: unknown, refusal: AppError) => void heard.push(['close', sessions, refusal.code, refusal.facts]),
    loseSessions: (sessions: unknown) => void heard.push(['lose', sessions]),
  };
  const pass = (): void => {
    for (const { message } of sent.splice(0)) edge.handle(message, { from: asWorkerAddress('o:1'), here });
  };
  return { owner, edge, sent, heard, pass, left, gone, here, turn, link, advance };
}

test('[RX1] a frame crosses to each worker once, with the sessions there that it is for', () => {
  const { owner, sent, heard, pass } = twoWorkers();
  owner.comesFrom(asSessionId('ed-ge-1'), asWorkerAddress('e:1'));
  owner.comesFrom(asSessionId('other-1'), asWorkerAddress('o:1'));
  const frames = [{ data: 'hello', droppable: false }];
  owner.deliver(recipients('ed-ge-1', 'other-7', 'ed-ge-25'), frames);
  expect(sent.map(({ to }) => to)).toEqual(['e:1', 'o:1']);
  sent.pop();
  pass();
  expect(heard).toEqual([['deliver', ids('ed-ge-1', 'ed-ge-25'), frames]]);
});

test('[RX2] closing and losing reach the sessions of the other worker', () => {
  const { owner, heard, pass } = twoWorkers();
  owner.comesFrom(asSessionId('ed-ge-1'), asWorkerAddress('e:1'));
  owner.closeSessions(ids('ed-ge-3'), new AppError('ROOM_NOT_FOUND', { roomId: 'r' }));
  owner.loseSessions(ids('ed-ge-4'));
  pass();
  expect(heard).toEqual([
    ['close', ids('ed-ge-3'), 'ROOM_NOT_FOUND', { roomId: 'r' }],
    ['lose', ids('ed-ge-4')],
  ]);
});

test('[RX3] nothing is sent for a worker that is down, and its name is told once', () => {
  const { owner, sent } = twoWorkers();
  owner.comesFrom(asSessionId('ed-ge-1'), asWorkerAddress('e:1'));
  expect(owner.workerDown(asWorkerAddress('e:1'))).toEqual(['ed-ge']);
  expect(owner.workerDown(asWorkerAddress('e:1'))).toEqual([]);
  owner.deliver(recipients('ed-ge-1'), []);
  expect(sent).toEqual([]);
});

test('[RX4] who has something for a session that is not there any more is told so, for its leave may be lost', () => {
  const { owner, sent, heard, pass, left, gone, here, turn } = twoWorkers();
  owner.comesFrom(asSessionId('ed-ge-1'), asWorkerAddress('e:1'));
  for (const id of ['ed-ge-2', 'ed-ge-3']) left.add(id);
  owner.deliver(recipients('ed-ge-1', 'ed-ge-2', 'ed-ge-3'), []);
  pass();
  expect(heard).toEqual([['deliver', ids('ed-ge-1'), []]]);
  expect(sent.map(({ to }) => to)).toEqual(['o:1']);
  owner.handle(sent[0]!.message, { from: asWorkerAddress('e:1'), here });
  owner.handle(sent[0]!.message, { from: asWorkerAddress('e:1'), here });
  expect(gone).toEqual([]);
  turn();
  expect(gone).toEqual(['ed-ge-2 ed-ge-3']); // together, however often it was said
});

test('[RX4] and so is a room on the worker that had the socket', () => {
  const { owner, sent, gone, turn } = twoWorkers();
  owner.deliver(recipients('own-er-5'), []); // asked only for sessions whose sockets are not here
  turn();
  expect(gone).toEqual(['own-er-5']);
  expect(sent).toEqual([]);
});

test('[RX5] what a full link has no room for waits, in order, until it has', () => {
  const { owner, heard, pass, link, advance } = twoWorkers();
  owner.comesFrom(asSessionId('ed-ge-1'), asWorkerAddress('e:1'));
  const say = (data: string) => owner.deliver(recipients('ed-ge-1'), [{ data, droppable: false }]);
  link.waitingBytes = 64 * 1024 * 1024;
  say('fits');
  link.waitingBytes += 1;
  say('waits');
  owner.closeSessions(ids('ed-ge-2'), new AppError('ROOM_NOT_FOUND', { roomId: 'r' }));
  advance(1_000);
  pass();
  expect(heard.splice(0)).toMatchObject([['deliver', ['ed-ge-1'], [{ data: 'fits' }]]]);
  link.waitingBytes = 0;
  say('behind it');
  pass();
  expect(heard).toEqual([]);
  advance(10);
  say('at once');
  pass();
  expect(heard).toMatchObject([
    ['deliver', ['ed-ge-1'], [{ data: 'waits' }]],
    ['close', ['ed-ge-2'], 'ROOM_NOT_FOUND', { roomId: 'r' }],
    ['deliver', ['ed-ge-1'], [{ data: 'behind it' }]],
    ['deliver', ['ed-ge-1'], [{ data: 'at once' }]],
  ]);
});

test('[RX6] what does not fit there closes its own sessions, and nobody else; of a worker that is down nothing waits', () => {
  const { owner, heard, pass, link, advance, sent } = twoWorkers();
  owner.comesFrom(asSessionId('ed-ge-1'), asWorkerAddress('e:1'));
  link.waitingBytes = 64 * 1024 * 1024 + 1;
  const data = new Uint8Array(100 * 1024 * 1024);
  for (const session of ['ed-ge-1', 'ed-ge-2', 'ed-ge-3']) owner.deliver(recipients(session), [{ data, droppable: false }]);
  pass();
  expect(heard.splice(0)).toEqual([['close', ids('ed-ge-3'), 'WORKER_OVERLOADED', {}]]);
  owner.workerDown(asWorkerAddress('e:1'));
  link.waitingBytes = 0;
  advance(1_000);
  expect(sent).toEqual([]);
});
