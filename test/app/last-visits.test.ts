import { expect, test } from 'vitest';
import { LastVisits } from '../../src/app/last-visits.ts';
import { AppError } from '../../src/base/errors.ts';
import { asRoomId } from '../../src/base/ids.ts';
import { silentLog } from '../../src/base/observe.ts';
import { manualClock } from '../support/manual-clock.ts';

const [ANN, BOB] = [asRoomId('ann'), asRoomId('bob')];
const settled = (): Promise<void> => new Promise((resolve) => setImmediate(resolve));

function theVisits() {
  const clock = manualClock();
  const written: string[][] = [];
  const state = { isAway: false };
  const visits = new LastVisits({
    clock,
    log: silentLog,
    async write(entered) {
      if (state.isAway) throw new AppError('DATABASE_UNAVAILABLE');
      written.push(entered.map(({ roomId }) => roomId));
    },
  });
  return { visits, clock, written, state };
}

test('[AX7] visits are written together, those of one room once a second', async () => {
  const { visits, clock, written } = theVisits();
  for (const roomId of [ANN, ANN, BOB]) visits.note(roomId);
  clock.advance(50);
  await settled();
  expect(written).toEqual([[ANN, BOB]]);
  visits.note(ANN);
  clock.advance(950);
  visits.note(ANN);
  clock.advance(50);
  await settled();
  expect(written).toEqual([[ANN, BOB], [ANN]]);
});

test('[AX7] they are written when the database is back, or at the end', async () => {
  const { visits, clock, written, state } = theVisits();
  state.isAway = true;
  visits.note(ANN);
  clock.advance(50);
  await settled();
  state.isAway = false;
  clock.advance(1_000);
  await settled();
  expect(written).toEqual([[ANN]]);
  visits.note(BOB);
  await visits.close();
  expect(written).toEqual([[ANN], [BOB]]);
});
