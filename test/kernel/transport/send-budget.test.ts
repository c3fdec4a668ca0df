import { expect, test } from 'vitest';
import { type Frame, lengthOf } from '../../../src/kernel/transport/frame.ts';
import { type OutFrame, SendBudget } from '../../../src/kernel/transport/send-budget.ts';
import type { Socket } from '../../../src/kernel/transport/server.ts';
import { frameText } from '../../support/frame-text.ts';

/** A socket whose peer takes nothing until told. */
class StuckSocket implements Socket {
  readonly sent: string[] = [];
  waitingBytes = 0;
  corks = 0;

  send(frame: Frame): boolean {
    this.sent.push(frameText(frame));
    this.waitingBytes += lengthOf(frame);
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
const may = (data: string): OutFrame => ({ data, droppable: true });

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

test('[CN5] of a text that is UTF-8 already its bytes count', () => {
  const { socket, budget } = aBudget(0);
  budget.send([{ data: { utf8: [new Uint8Array(4_000), new Uint8Array(6_000)] }, droppable: false }]);
  socket.waitingBytes = 12_000;
  expect(budget.send([must('op')])).toBe('sent');
  socket.waitingBytes = 12_001;
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

test('[CN5] cursors behind a document are sent, too: else whoever gets one would miss them', () => {
  const { socket, budget } = aBudget(0);
  budget.send([must('d'.repeat(1_000))]); // may be 3,000 bytes
  socket.waitingBytes = 3_500;
  expect(budget.send([may('cursor')])).toBe('sent');
  socket.waitingBytes = 3_501;
  expect(budget.send([may('cursor')])).toBe('thinned');
});

test('[CN6] a reader that has missed something misses all that it may until it has caught up', () => {
  const { socket, budget } = aBudget(501);
  budget.send([may('cursor')]);
  socket.waitingBytes = 251;
  expect([budget.send([may('cursor')]), budget.caughtUp()]).toEqual(['thinned', false]);
  expect(budget.send([must('op')])).toBe('sent');
  socket.waitingBytes = 250;
  expect([budget.caughtUp(), budget.send([may('cursor')])]).toEqual([true, 'sent']);
});

test('[CN6] a reader that missed something has caught up when half of the soft bound is free, and that is said once', () => {
  const { socket, budget } = aBudget(501);
  budget.send([may('cursor'), must('op')]);
  socket.waitingBytes = 251;
  expect(budget.caughtUp()).toBe(false);
  socket.waitingBytes = 250;
  expect([budget.caughtUp(), budget.caughtUp()]).toEqual([true, false]);
  socket.waitingBytes = 501;
  budget.send([may('cursor')]);
  socket.waitingBytes = 0;
  expect(budget.caughtUp()).toBe(true);
});

test('[CN6] a reader that missed nothing has nothing to catch up with, however full it was', () => {
  const { socket, budget } = aBudget(501);
  budget.send([must('op')]);
  socket.waitingBytes = 0;
  expect(budget.caughtUp()).toBe(false);
});

test('[CN7] several frames go out corked, a single one does not need to', () => {
  const { socket, budget } = aBudget(0);
  budget.send([must('a')]);
  expect(socket.corks).toBe(0);
  budget.send([must('b'), must('c')]);
  expect(socket.corks).toBe(1);
});
