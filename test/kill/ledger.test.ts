import { expect, test } from 'vitest';
import { Ledger, timesThatDiffer } from './ledger.ts';

function aLedger(): Ledger {
  const ledger = new Ledger();
  for (const id of ['push.1', 'push.2', 'patch.3']) ledger.wrote(id);
  ledger.acked('push.1');
  ledger.acked('patch.3');
  return ledger;
}

const FINE = { acked: 2, lost: [], duplicated: [], unknown: 1, kept: 0, foreign: [] };

test('[KI1] acknowledged writes that are there once are fine, and an unanswered one may be there or not', () => {
  expect(aLedger().judge(['patch.3', 'push.1'])).toEqual(FINE);
  expect(aLedger().judge(['patch.3', 'push.1', 'push.2'])).toEqual({ ...FINE, kept: 1 });
  expect(aLedger().ackedByKind).toEqual({ push: 1, patch: 1 });
});

test.each([
  ['an acknowledged write that is gone is lost', ['push.1'], { lost: ['patch.3'] }],
  ['an acknowledged write that is there twice is duplicated', ['push.1', 'patch.3', 'push.1'], { duplicated: ['push.1'] }],
  [
    'an unanswered write that is there twice is duplicated',
    ['push.1', 'patch.3', 'push.2', 'push.2'],
    { duplicated: ['push.2'], kept: 1 },
  ],
  ['what nobody wrote is foreign', ['push.1', 'patch.3', 'push.9'], { foreign: ['push.9'] }],
])('[KI2] a forged history is found out: %s', (_, found, expected) => {
  expect(aLedger().judge(found)).toEqual({ ...FINE, ...expected });
});

test('[KI2] an unanswered write that others were shown must be there', () => {
  const ledger = aLedger();
  ledger.shown('push.2');
  expect(ledger.judge(['push.1', 'patch.3']).lost).toEqual(['push.2']);
});

test('[KI2] no id is written twice, and none is acknowledged that was not written', () => {
  expect(() => aLedger().wrote('push.1')).toThrow('written before');
  expect(() => aLedger().acked('push.9')).toThrow('never written');
});

test('[KI6] an effect that is missing, or there too often, is found out by its id', () => {
  expect(timesThatDiffer(['a', 'b', 'b'], ['b', 'a', 'b'], 'told')).toEqual([]);
  expect(timesThatDiffer(['a', 'b', 'b'], ['b', 'c'], 'told')).toEqual([
    'a was told 0 times instead of 1',
    'b was told 1 times instead of 2',
    'c was told 1 times instead of 0',
  ]);
  expect(timesThatDiffer(['a'], ['a', 'a'], 'told')).toEqual(['a was told 2 times instead of 1']);
});
