import { describe, expect, test } from 'vitest';
import { checkName, checkRoomId } from '../../src/protocol/names.ts';

describe('names', () => {
  test('[RM2] row 20: a room id has 1 to 128 characters; the refusal names the key', () => {
    expect(checkRoomId('r', 'id')).toBe('r');
    expect(checkRoomId('r'.repeat(128), 'id')).toHaveLength(128);
    expect(() => checkRoomId('', 'id')).toThrow("Value at key 'id' must have 1 to 128 characters.");
    expect(() => checkRoomId('r'.repeat(129), 'newRoomId')).toThrow("Value at key 'newRoomId' must have 1 to 128 characters.");
  });

  test('[RM3] row 21: a room id is any Unicode but control characters and the asterisk', () => {
    expect(checkRoomId('board:7/é \u{1f600} .', 'id')).toBe('board:7/é \u{1f600} .');
    for (const id of ['a\nb', '\x7f', '\x9f']) expect(() => checkRoomId(id, 'id')).toThrow('may not hold control characters');
    for (const id of ['*', 'a*', '*a']) expect(() => checkRoomId(id, 'id')).toThrow('may not hold an asterisk');
  });

  test('[RM4] no name is what the database cannot hold, what would reach a prototype, or no string', () => {
    for (const name of ['a\0', 'a\ud800']) expect(() => checkName(name, 'userId', 9)).toThrow("'userId' may not hold U+0000");
    for (const name of ['__proto__', 'constructor', 'prototype'])
      expect(() => checkName(name, 'userId', 99)).toThrow('may not be used');
    expect(() => checkName(7, 'userId', 9)).toThrow('must be a string');
    expect(checkName('mia', 'userId', 3)).toBe('mia');
  });
});
