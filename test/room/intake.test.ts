import fc from 'fast-check';
import { expect, test } from 'vitest';
import { AppError } from '../../src/base/errors.ts';
import { silentLog } from '../../src/base/observe.ts';
import { Intake, type Speaker, type Waiting } from '../../src/room/intake.ts';
import { manualClock } from '../support/manual-clock.ts';

/** What frames may take of a turn. */
const SLICE_MS = 15;
/** To hear a frame takes so long, unless it says how long: `3:name` takes 3 ms. */
const HEAR_MS = SLICE_MS / 100;
const MIB = 1024 * 1024;
const SECOND = 1_000;

/** Sockets of a worker whose event loop turns when told: `turn` is what its sockets bring in one, then its end. */
function aWorker() {
  const clock = manualClock();
  let soon: (() => void)[] = [];
  const intake = new Intake({ clock: { monotonicMs: clock.monotonicMs, soon: (task) => void soon.push(task) }, log: silentLog });
  const heard: string[] = [];
  const frames: { readonly frame: string | Uint8Array; readonly cameAtMs: number }[] = [];
  const speakers = new Map<string, ReturnType<typeof aSpeaker>>();
  const aSpeaker = (name: string) => {
    const speaker = {
      waiting: null as Waiting | null,
      refused: null as string | null,
      get isClosed(): boolean {
        return this.refused !== null;
      },
      hear(frame: string | Uint8Array, cameAtMs: number) {
        const [ms] = /^\d+(?=:)/.exec(String(frame).slice(0, 10)) ?? [HEAR_MS];
        clock.advance(Number(ms));
        heard.push(`${name} ${String(frame).slice(0, 10)}`);
        frames.push({ frame, cameAtMs });
        if (frame === 'throws') throw new Error('it threw');
        if (String(frame).slice(0, 20).includes('refused')) this.refuse(new AppError('TOO_MANY_MESSAGES'));
      },
      leave: () => void heard.push(`${name} left`),
      refuse(refusal: AppError) {
        this.refused = refusal.code;
        intake.forget(this);
      },
    };
    return speaker satisfies Speaker;
  };
  const speakerOf = (name: string) => {
    const speaker = speakers.get(name) ?? aSpeaker(name);
    speakers.set(name, speaker);
    return speaker;
  };
  const say = (name: string, frame: string | Uint8Array): void => {
    const speaker = speakerOf(name);
    if (!speaker.isClosed) intake.take(speaker, frame, clock.monotonicMs());
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
  /** Makes the turn a long one. */
  const beLong = (): void => say('long', '150:');
  const refusalOf = (name: string): string | null => speakerOf(name).refused;
  return { clock, intake, heard, say, end, turn, beLong, refusalOf, speakers, frames };
}

const times = (count: number, act: (place: number) => void): void => {
  for (let place = 0; place < count; place += 1) act(place);
};

test('[OV10] where frames take little of a turn all are heard when they come, however many they are', () => {
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

test('[OV10] in a turn in which they take long the others wait, and each further turn hears some; nothing overtakes what waits of its socket', () => {
  const { heard, say, turn, intake } = aWorker();
  const first = turn(() => {
    times(1_000, (number) => say('ann', `${number}`));
    expect(heard).toHaveLength(100);
    expect(intake.bytes).toBeGreaterThan(900);
  });
  expect(first).toHaveLength(200);
  expect(turn(() => say('ann', 'late'))).toHaveLength(100);
  while (turn().length > 0);
  expect(heard).toEqual([...Array.from({ length: 1_000 }, (_, number) => `ann ${number}`), 'ann late']);
  expect(intake.bytes).toBe(0);
  expect(turn(() => say('ann', 'calm'))).toEqual(['ann calm']);
});

test('[OV10] one socket after the other is heard, 16 frames of each, or as many as the turn has time for', () => {
  const { say, turn } = aWorker();
  const order = turn(() => {
    times(300, (number) => say('ann', `${number}`));
    times(3, (number) => say('bob', `9:${number}`));
    say('cleo', 'c');
  });
  expect(order).toHaveLength(100 + 16 + 2);
  expect(order.slice(-3)).toEqual(['ann 115', 'bob 9:0', 'bob 9:1']);
  expect(turn().slice(0, 2)).toEqual(['cleo c', 'ann 116']);
});

test('[OV10] what waits has memory of its own, and is told with the time at which it came', () => {
  const { clock, say, turn, beLong, frames } = aWorker();
  turn(() => {
    beLong();
    say('ann', new Uint8Array(8_192).subarray(0, 4));
  });
  const { frame } = frames.at(-1)!;
  expect([frame, (frame as Uint8Array).buffer.byteLength]).toEqual([new Uint8Array(4), 4]);
  const startedMs = clock.monotonicMs();
  turn(() => {
    times(2, beLong);
    say('bob', '5:');
    clock.advance(40);
    say('bob', '5:');
  });
  expect(frames.slice(-3).map(({ cameAtMs }) => cameAtMs)).toEqual([startedMs + 150, startedMs + 300, startedMs + 340]);
});

test('[OV11] for what comes beyond 64 MiB, what waits is heard at once; who goes on beyond 0.4 s of that is closed, and its frames are let go', () => {
  const { say, turn, intake, heard, refusalOf, beLong } = aWorker();
  const long = (ms: number): string => `${ms}:`.padEnd(MIB, 'x');
  turn(() => {
    beLong();
    times(63, (place) => say(`client ${place % 7}`, long(20)));
    expect(heard).toHaveLength(1);
    times(16, () => say('cleo', 'x'.repeat(MIB / 2)));
    expect(heard.length).toBeGreaterThan(1);
    expect(intake.bytes).toBeGreaterThan(62 * MIB);
    expect(intake.bytes).toBeLessThanOrEqual(64 * MIB);
    times(5, () => say('dan', long(20)));
    times(5, () => say('eve', long(20)));
    expect([refusalOf('dan'), refusalOf('eve')]).toEqual([null, null]);
    times(9, () => say('fay', long(20)));
    expect(refusalOf('fay')).toBe('WORKER_OVERLOADED');
    times(2, () => say('gil', 'x'.repeat(MIB)));
    expect(refusalOf('gil')).toBeNull(); // there was room again
    say('hal', 'short');
    times(2, () => say('ida', 'x'.repeat(8 * MIB)));
    say('joe', 'short');
    expect([refusalOf('hal'), refusalOf('ida'), refusalOf('joe')]).toEqual([null, 'WORKER_OVERLOADED', null]);
    expect(intake.bytes).toBeLessThanOrEqual(64 * MIB);
  });
  while (turn().length > 0);
  expect(intake.bytes).toBe(0);
  expect(heard.filter((one) => one.startsWith('client'))).toHaveLength(63);
});

test('[OV11] of one socket 10 MiB wait, or one frame; who says more is closed, and nobody else', () => {
  const { say, turn, refusalOf, beLong, intake } = aWorker();
  turn(() => {
    beLong();
    say('ann', 'x'.repeat(20 * MIB));
    times(19, () => say('bob', 'x'.repeat(MIB / 2)));
    expect([refusalOf('ann'), refusalOf('bob')]).toEqual([null, null]);
    say('ann', 'x');
    times(2, () => say('bob', 'x'.repeat(MIB / 2)));
    expect([refusalOf('ann'), refusalOf('bob')]).toEqual(['WORKER_OVERLOADED', 'WORKER_OVERLOADED']);
    expect(intake.bytes).toBe(0);
    say('cleo', 'c');
    expect(refusalOf('cleo')).toBeNull();
  });
});

test('[OV16] of those who have waited for five seconds some are closed in each turn, until the others are heard in time', () => {
  const { clock, say, turn, intake, speakers } = aWorker();
  const refused = (): number => [...speakers.values()].filter((one) => one.refused !== null).length;
  let lastMs = 10;
  let said = 0;
  const seconds = (count: number): void => {
    const endMs = clock.monotonicMs() + count * SECOND;
    while (clock.monotonicMs() < endMs) {
      const startedMs = clock.monotonicMs();
      // 200 clients, together half as much again as can be heard.
      const first = said;
      said += Math.ceil((lastMs * 1.5) / HEAR_MS);
      turn(() => times(said - first, (place) => say(`client ${(first + place) % 200}`, 'op')));
      lastMs = Math.max(1, clock.monotonicMs() - startedMs);
    }
  };
  seconds(4);
  expect(refused()).toBe(0);
  seconds(60);
  expect(refused()).toBeGreaterThan(50);
  expect(refused()).toBeLessThan(150);
  intake.readLagMs();
  seconds(10);
  expect(intake.readLagMs()).toBeLessThan(8 * SECOND);
});

test('[OV12] what a client said before it went is heard before it leaves: some in every other turn', () => {
  const { say, end, turn, heard, beLong, intake } = aWorker();
  turn(() => {
    beLong();
    times(40, (number) => say('ann', `1:${number}`));
    times(40, (number) => say('bob', `1:${number}`));
    say('bob again', 'b');
    end('bob');
    end('cleo');
    expect(heard).toEqual(['long 150:', 'cleo left']);
  });
  while (intake.bytes > 0) turn();
  const order = heard.slice(2).map((one) => one.split(' 1:')[0]!);
  const parts = order.filter((one, place) => one !== order[place - 1]);
  expect(parts).toEqual(['bob', 'ann', 'bob', 'bob left', 'bob again b', 'ann']);
  expect(heard.indexOf('bob left')).toBe(heard.indexOf('bob 1:39') + 1);
  expect(heard).toHaveLength(2 + 40 + 40 + 2);
});

test('[OV12] who is closed by what it said is not heard any more, nor kept', () => {
  const { say, turn, heard, beLong, intake, refusalOf } = aWorker();
  turn(() => {
    beLong();
    say('ann', 'refused');
    times(9, () => say('ann', 'a'));
    for (let client = 0; client < 8; client += 1) say(`client ${client}`, '5:'.padEnd(8 * MIB, 'x')); // the last makes room by hearing ann
    say('ann', 'late');
    expect(refusalOf('ann')).toBe('TOO_MANY_MESSAGES');
  });
  while (intake.bytes > 0) turn();
  expect(heard.filter((one) => one.startsWith('ann'))).toEqual(['ann refused']);
});

test('[OV12] a frame that fails costs nobody else anything', () => {
  const { say, end, turn, heard, beLong, intake } = aWorker();
  turn(() => {
    beLong();
    say('ann', 'throws');
    say('ann', 'a');
    say('bob', 'throws');
    say('cleo', 'c');
    end('bob');
  });
  while (intake.bytes > 0) turn();
  expect(heard.slice(1)).toEqual(['bob throws', 'bob left', 'ann throws', 'cleo c', 'ann a']);
});

test('[OV13] how late frames are heard is said once', () => {
  const { say, turn, intake } = aWorker();
  turn(() => times(300, (number) => say('ann', `${number}`)));
  expect(intake.readLagMs()).toBeGreaterThan(SLICE_MS * 0.9);
  expect(intake.readLagMs()).toBe(0);
});

test.each([1, 7, 60])('[OV15] turns stay short, however much more comes than can be decided: frames of %d ms', (ms) => {
  const { clock, say, turn, intake } = aWorker();
  let lastMs = 10;
  let longestMs = 0;
  for (let turns = 0; turns < 300; turns += 1) {
    const startedMs = clock.monotonicMs();
    // Twice what it can decide: all that came in the turn before is read in this one.
    turn(() => times(Math.ceil((lastMs * 2) / ms), (number) => say(`client ${(turns + number) % 500}`, `${ms}:`)));
    lastMs = Math.max(ms, clock.monotonicMs() - startedMs);
    longestMs = Math.max(longestMs, lastMs);
  }
  expect(longestMs).toBeLessThan(3 * (SLICE_MS + ms));
  expect(intake.bytes).toBeGreaterThan(0);
});

test('[OV10] [OV12] whatever comes in whatever turns, each socket is heard in order, whole, and leaves last', () => {
  const step = fc.record({
    who: fc.constantFrom('ann', 'bob', 'cleo', 'dan'),
    does: fc.constantFrom('says', 'says', 'says', 'says much', 'ends', 'turns'),
    ms: fc.constantFrom(0, 1, 20, 110),
  });
  fc.assert(
    fc.property(fc.array(step, { maxLength: 40 }), (steps) => {
      const { say, end, turn, heard, intake } = aWorker();
      const said = new Map<string, string[]>();
      const gone = new Set<string>();
      for (const { who, does, ms } of steps) {
        if (does === 'turns') turn();
        if (gone.has(who)) continue;
        const spoken = said.get(who) ?? [];
        said.set(who, spoken);
        const sayOne = (frame: string): void => {
          spoken.push(`${who} ${frame}`);
          say(who, frame);
        };
        if (does === 'says') sayOne(`${ms}:${spoken.length}`);
        if (does === 'says much') times(40, () => sayOne(`1:${spoken.length}`));
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
