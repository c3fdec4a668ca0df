import { expect, test } from 'vitest';
import { type OutFrame, SendBudget } from '../../../src/kernel/transport/send-budget.ts';
import type { Socket } from '../../../src/kernel/transport/server.ts';

/** A socket whose peer takes nothing until told. */
class StuckSocket implements Socket {
  readonly sent: string[] = [];
  waitingBytes = 0;
  corks = 0;

  send(frame: string | Uint8Array): boolean {
    this.sent.push(String(frame));
    this.waitingBytes += frame.length;
    return true;
  }
  cork(writes: () => void): void {
    this.corks += 1;
    writes();
  }
  ping(): void {
    throw new Error('so is pinging');
  }
  close(): void {
    throw new Error('closing is the caller’s task');
  }
  bufferedBytes(): number {
    return this.waitingBytes;
  }
}

function aBudget(waitingBytes: number): { socket: StuckSocket; budget: SendBudget } {
  const socket = new StuckSocket();
  socket.waitingBytes = waitingBytes;
  return { socket, budget: new SendBudget({ socket, softBytesMax: 500, hardBytesMax: 2_000 }) };
}

const must = (data: string): OutFrame => ({ data, droppable: false });
const may = (data: string, latestOf?: string): OutFrame => ({
  data,
  droppable: true,
  ...(latestOf !== undefined && { latestOf }),
});

test('[CN3] up to the soft bound everything is sent; above it, what may be missed is not', () => {
  const at = aBudget(500);
  expect(at.budget.send([may('cursor')])).toBe('sent');
  const above = aBudget(501);
  expect(above.budget.send([may('cursor')])).toBe('thinned');
  expect(above.budget.send([must('op')])).toBe('sent');
  expect([at.socket.sent, above.socket.sent]).toEqual([['cursor'], ['op']]);
});

test('[CN4] up to the hard bound what must arrive is sent; above it the verdict is to close, and nothing more is sent', () => {
  const at = aBudget(2_000);
  expect(at.budget.send([must('op')])).toBe('sent');
  const above = aBudget(2_001);
  expect(above.budget.send([must('op'), must('next')])).toBe('exceeded');
  expect([at.socket.sent, above.socket.sent]).toEqual([['op'], []]);
});

test('[CN5] one frame longer than the hard bound passes, and what follows it has the usual room behind it', () => {
  const { socket, budget } = aBudget(0);
  const document = 'd'.repeat(10_000);
  expect(budget.send([must(document), must('op')])).toBe('sent');
  socket.waitingBytes = 32_000; // the estimate of a text is three bytes a character: 30,000 and 2,000 behind it
  expect(budget.send([must('op')])).toBe('sent');
  expect(budget.send([must('op')])).toBe('exceeded');
});

test('[CN5] once a long frame has left, the usual bound holds again', () => {
  const { socket, budget } = aBudget(0);
  budget.send([must('d'.repeat(10_000))]);
  socket.waitingBytes = 2_000;
  expect(budget.send([must('op')])).toBe('sent');
  socket.waitingBytes = 2_001;
  expect(budget.send([must('op')])).toBe('exceeded');
});

test('[CN6] of frames with one name the newest is sent when the reader has caught up, of those without a name none', () => {
  const { socket, budget } = aBudget(501);
  budget.send([may('ann 1', 'ann'), may('bob 1', 'bob'), may('ann 2', 'ann'), may('event')]);
  budget.drained();
  expect(socket.sent).toEqual([]);
  socket.waitingBytes = 500;
  budget.drained();
  expect(socket.sent).toEqual(['ann 2']); // which fills the room again
  socket.waitingBytes = 0;
  budget.drained();
  budget.drained();
  expect(socket.sent).toEqual(['ann 2', 'bob 1']);
});

test('[CN6] a frame that was put off never comes after a newer one of its name', () => {
  const { socket, budget } = aBudget(501);
  budget.send([may('ann 1', 'ann')]);
  socket.waitingBytes = 0;
  budget.send([may('ann 2', 'ann')]);
  budget.drained();
  expect(socket.sent).toEqual(['ann 2']);
});

test('[CN6] 1,000 names are kept for a slow reader; with the next one the oldest is forgotten', () => {
  const { socket, budget } = aBudget(501);
  for (let name = 0; name <= 1_000; name += 1) budget.send([may(`${name}`, `${name}`)]);
  for (let turn = 0; turn < 20; turn += 1) {
    socket.waitingBytes = 0;
    budget.drained();
  }
  expect(socket.sent).toHaveLength(1_000);
  expect(socket.sent[0]).toBe('1');
});

test('[CN7] several frames go out corked, a single one does not need to', () => {
  const { socket, budget } = aBudget(0);
  budget.send([must('a')]);
  expect(socket.corks).toBe(0);
  budget.send([must('b'), must('c')]);
  expect(socket.corks).toBe(1);
});
