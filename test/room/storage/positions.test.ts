import { asPos as asPosOfSdk, makePosition as makePositionTyped } from '@liveblocks/core';
import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { asPos, makePosition } from '../../../src/room/storage/positions.ts';

const makePositionOfSdk = makePositionTyped as (lo?: string, hi?: string) => string;

/** Mostly from the ends of the alphabet, where carries and borrows happen. */
const aPosition = fc.string({ unit: fc.constantFrom(' ', '!', '"', 'O', 'a', '}', '~'), minLength: 1, maxLength: 9 }).map(asPos);

describe('a position between neighbours', () => {
  test.each([
    [undefined, undefined, '!'],
    ['!', undefined, '!!'],
    ['!!', undefined, '!"'],
    ['!~', undefined, '"'],
    ['~', undefined, '~!'],
    ['~~', undefined, '~~  !'],
    [undefined, '!', ' ~'],
    [undefined, '!!', '!'],
    [undefined, ' !', '  ~'],
    ['!', '"', '!O'],
    ['!', '!!', '! O'],
    ['!', '%', '#'],
    ['!!', '!~', '!O'],
    ['!O', '"', '!f'],
    ['!~', '"', '!~O'],
    ['a', 'aa', 'a@'],
    [' !', '!', ' O'],
    ['!', '! !', '!  O'],
  ])('[ST1] after %j and before %j is %j', (lo, hi, position) => {
    expect(makePosition(lo, hi)).toBe(position);
  });

  test('[ST1] lies strictly between any two, is a position itself, and is the one the SDK takes', () => {
    fc.assert(
      fc.property(aPosition, aPosition, (one, other) => {
        fc.pre(one !== other);
        const [lo, hi] = one < other ? [one, other] : [other, one];
        for (const position of [makePosition(lo, hi), makePosition(lo), makePosition(undefined, hi)])
          expect(asPos(position)).toBe(position);
        expect(lo < makePosition(lo, hi) && makePosition(lo, hi) < hi).toBe(true);
        expect(lo < makePosition(lo) && makePosition(undefined, hi) < hi).toBe(true);
        expect(makePosition(lo, hi)).toBe(makePositionOfSdk(lo, hi));
        expect(makePosition(lo)).toBe(makePositionOfSdk(lo));
        expect(makePosition(undefined, hi)).toBe(makePositionOfSdk(undefined, hi));
      }),
      { numRuns: 2_000 },
    );
  });

  test('[CB14] is the one the SDK takes, however long the beginning that its neighbours share', () => {
    fc.assert(
      fc.property(aPosition, fc.nat(200), aPosition, aPosition, (shared, times, one, other) => {
        fc.pre(one !== other);
        const [lo, hi] = [one, other].sort().map((end) => shared.repeat(times) + end) as [string, string];
        expect(makePosition(lo, hi)).toBe(makePositionOfSdk(lo, hi));
        expect(makePosition(one, `${one}${' '.repeat(times)}${other}`)).toBe(
          makePositionOfSdk(one, `${one}${' '.repeat(times)}${other}`),
        );
      }),
    );
  });

  test('[ST1] 8,900 pushes stay in order and within two characters', () => {
    let last: string | undefined;
    for (let pushes = 0; pushes < 8_900; pushes += 1) {
      const next = makePosition(last);
      expect(last === undefined || last < next).toBe(true);
      last = next;
    }
    expect(last).toHaveLength(2);
  });
});

describe('what a client sent as a position', () => {
  test.each([
    ['', '!'],
    ['   ', '!'],
    ['a  ', 'a'],
    ['a\u0000b', 'a b'],
    ['aé', 'a~'],
    ['a b', 'a b'],
  ])('[ST2] %j becomes %j', (sent, position) => {
    expect(asPos(sent)).toBe(position);
  });

  test('[ST2] becomes what the SDK makes of it', () => {
    fc.assert(
      fc.property(fc.string({ unit: 'binary', maxLength: 8 }), (text) => void expect(asPos(text)).toBe(asPosOfSdk(text))),
    );
  });

  test('[ST2] costs no more than reading it, however many spaces it has', () => {
    expect(asPos(`${`${' '.repeat(50)}a`.repeat(20_000)}${' '.repeat(500_000)}é${' '.repeat(500_000)}`)).toMatch(/~$/);
  });
});
