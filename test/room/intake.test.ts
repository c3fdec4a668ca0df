import fc from 'fast-check';
import { expect, test } from 'vitest';
import type { AppError } from '../../src/base/errors.ts';
import { Intake, type Speaker, type Unheard } from '../../src/room/intake.ts';
import { manualClock } from '../support/manual-clock.ts';

/** To hear a frame takes so long, unless it says how long: `3:name` takes 3 ms. */
const HEAR_MS = 1;

/** Sockets of a worker whose event loop turns when told: `turn` is what its sockets bring in one, then its end. */
function aWorker() {
  const clock = manualClock();
  let soon: (() => void)[] = [];
  const intake = new Intake({ monotonicMs: clock.monotonicMs, soon: (task) => void soon.push(task) });
  const heard: string[] = [];
  const speakers = new Map<string, ReturnType<typeof aSpeaker>>();
  const aSpeaker = (name: string) => {
    const speaker = {
      unheard: null as Unheard | null,
      heardAtMs: 0,
      refused: null as string | null,
      hear(frame: string | Uint8Array) {
        if (this.refused !== null) return;
        const [ms] = /^\d+(?=:)/.exec(String(frame).slice(0, 10)) ?? [HEAR_MS];
        clock.advance(Number(ms));
        heard.push(`${name} ${String(frame).slice(0, 10)}`);
      },
      leave: () => void heard.push(`${name} left`),
      refuse(refusal: AppError) {
        this.refused = refusal.code;
      },
    };
    return speaker satisfies Speaker;
  };
  const speakerOf = (name: string) => {
    const speaker = speakers.get(name) ?? aSpeaker(name);
    speakers.set(name, speaker);
    return speaker;
  };
  const say = (name: string, frame: string): void => {
    const speaker = speakerOf(name);
    speaker.heardAtMs = clock.monotonicMs();
    intake.take(speaker, frame);
  };
  const end = (name: string): void => intake.end(speakerOf(name));
  const turn = (bring: () => void = () => undefined): string[] => {
    const before = heard.length;
    bring();
    const tasks = soon;
    soon = [];
    for (const task of tasks) task();
    return heard.slice(before);
  };
  return { clock, intake, heard, say, end, turn, refusalOf: (name: string) => speakerOf(name).refused };
}

const times = (count: number, act: (place: number) => void): void => {
  for (let place = 0; place < count; place += 1) act(place);
};

test('[OV10] in short turns all is heard when it comes, however many they are', () => {
  const { clock, heard, say, turn, intake } = aWorker();
  times(100, (number) =>
    turn(() => {
      times(50, () => say('ann', `${number}`));
      expect(heard).toHaveLength((number + 1) * 50);
      clock.advance(10);
    }),
  );
  expect(intake.bytes).toBe(0);
  expect(intake.readLagMs()).toBe(0);
});

test('[OV10] in a long turn what comes waits, and each further turn hears some; nothing overtakes what waits of its socket', () => {
  const { heard, say, turn, intake } = aWorker();
  const first = turn(() => {
    times(1_000, (number) => say('ann', `${number}`));
    expect(heard).toHaveLength(100);
    expect(intake.bytes).toBeGreaterThan(900);
  });
  const TURN = 112; // 100 ms, by 16 frames at a time
  expect(first).toHaveLength(100 + TURN);
  expect(turn(() => say('ann', 'late'))).toHaveLength(TURN);
  while (turn().length > 0);
  expect(heard).toEqual([...Array.from({ length: 1_000 }, (_, number) => `ann ${number}`), 'ann late']);
  expect(intake.bytes).toBe(0);
  expect(turn(() => say('ann', 'calm'))).toEqual(['ann calm']);
});

test('[OV10] one socket after the other is heard, 16 frames of each: who says much lets others pass', () => {
  const { say, turn } = aWorker();
  const order = turn(() => {
    times(300, (number) => say('ann', `${number}`));
    say('bob', '300:b'); // longer than all that waits has of a turn
    say('cleo', 'c');
  });
  expect(order).toHaveLength(100 + 16 + 1);
  expect(order.slice(-2)).toEqual(['ann 115', 'bob 300:b']);
  expect(turn().slice(0, 2)).toEqual(['cleo c', 'ann 116']);
});

test('[OV11] of what comes beyond 64 MiB, what waits is heard at once; who goes on beyond half a second is closed', () => {
  const { say, turn, intake, heard, refusalOf } = aWorker();
  const MIB = 1024 * 1024;
  const long = (ms: number) => `${ms}:`.padEnd(MIB, 'x');
  turn(() => {
    say('ann', '150:a');
    times(63, () => say('bob', long(20)));
    expect(heard).toHaveLength(1);
    times(16, () => say('cleo', long(20)));
    expect(heard).toHaveLength(1 + 16);
    expect(intake.bytes).toBeGreaterThan(62 * MIB);
    expect(intake.bytes).toBeLessThanOrEqual(64 * MIB);
    times(16, () => say('dan', long(20)));
    expect(heard).toHaveLength(1 + 32); // 640 ms of this turn
    times(16, () => say('eve', long(20)));
    expect([refusalOf('dan'), refusalOf('eve')]).toEqual([null, 'WORKER_OVERLOADED']);
    expect(intake.bytes).toBeLessThanOrEqual(64 * MIB);
  });
  while (turn().length > 0);
  expect(intake.bytes).toBe(0);
  expect(heard.filter((one) => one.startsWith('bob'))).toHaveLength(63);
});

test('[OV12] what a client said before it went is heard before it leaves', () => {
  const { say, end, turn, heard } = aWorker();
  turn(() => {
    say('ann', '150:a');
    times(40, (number) => say('bob', `9:${number}`));
    end('bob');
    end('cleo');
    expect(heard).toEqual(['ann 150:a', 'cleo left']);
  });
  while (turn().length > 0);
  expect(heard.slice(-2)).toEqual(['bob 9:39', 'bob left']);
  expect(heard).toHaveLength(43);
});

test('[OV13] how late frames are heard is said once', () => {
  const { say, turn, intake } = aWorker();
  turn(() => times(300, (number) => say('ann', `${number}`)));
  expect(intake.readLagMs()).toBeGreaterThan(90);
  expect(intake.readLagMs()).toBe(0);
});

test('[OV15] turns stay short, however much more comes than can be decided', () => {
  const { clock, say, turn, intake } = aWorker();
  let lastMs = 10;
  let longestMs = 0;
  for (let turns = 0; turns < 500; turns += 1) {
    const startedMs = clock.monotonicMs();
    // Twice what it can decide: all that came in the turn before is read in this one.
    turn(() => times(Math.ceil(lastMs * 2), (number) => say(`client ${number % 50}`, 'op')));
    lastMs = clock.monotonicMs() - startedMs;
    longestMs = Math.max(longestMs, lastMs);
  }
  expect(longestMs).toBeLessThan(350);
  expect(intake.bytes).toBeGreaterThan(0);
});

test('[OV10] [OV12] whatever comes in whatever turns, each socket is heard in order, whole, and leaves last', () => {
  const step = fc.record({
    who: fc.constantFrom('ann', 'bob', 'cleo', 'dan'),
    does: fc.constantFrom('says', 'says', 'says', 'says much', 'ends', 'turns'),
    ms: fc.constantFrom(0, 1, 20, 150),
  });
  fc.assert(
    fc.property(fc.array(step, { maxLength: 200 }), (steps) => {
      const { say, end, turn, heard, intake } = aWorker();
      const said = new Map<string, string[]>();
      const gone = new Set<string>();
      for (const { who, does, ms } of steps) {
        if (does === 'turns') turn();
        if (gone.has(who)) continue;
        const spoken = said.get(who) ?? [];
        said.set(who, spoken);
        if (does.startsWith('says'))
          times(does === 'says' ? 1 : 40, () => {
            const frame = `${ms}:${spoken.length}`;
            spoken.push(`${who} ${frame}`);
            say(who, frame);
          });
        if (does !== 'ends') continue;
        gone.add(who);
        spoken.push(`${who} left`);
        end(who);
      }
      while (intake.bytes > 0) turn();
      for (const [who, spoken] of said) expect(heard.filter((one) => one.startsWith(`${who} `))).toEqual(spoken);
    }),
  );
});
