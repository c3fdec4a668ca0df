import { describe, expect, it } from 'vitest';
import { DUE_AT_ONCE } from '../../bench/config.ts';
import { shortOf } from '../../bench/load/due-at-once.ts';

describe('rooms that are due at once', () => {
  it('says how many were done where the window closed before all of them were', () => {
    expect(shortOf('were saved', 784, 980)).toEqual([
      `only 196 of ${DUE_AT_ONCE.rooms} rooms were saved until the window closed`,
    ]);
    expect(shortOf('were saved', 0, DUE_AT_ONCE.rooms)).toEqual([]);
  });

  it('says nothing of a server that does not tell', () => {
    expect(shortOf('were saved', null, null)).toEqual([]);
  });
});
