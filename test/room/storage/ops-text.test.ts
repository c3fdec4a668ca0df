import { expect, test } from 'vitest';
import type { Op, OpsText } from '../../../src/protocol/storage-ops.ts';
import { type Applied, applyOps, nothingApplied } from '../../../src/room/storage/apply.ts';
import { withTexts } from '../../../src/room/storage/ops-text.ts';
import type { Storage } from '../../../src/room/storage/tree.ts';
import { createMap, createRegister, deleteKey, storageOf, untagged, updateObject } from './ops.ts';

const furnished = (): Storage => storageOf(createMap('1:0', '1:0', 'root', 'm'), createRegister('1:1', '1:1', '1:0', 'k', 'old'));
const apply = (storage: Storage, ...ops: Op[]): Applied => applyOps(storage, ops, { actor: 2 });
const read = ({ ops, json }: OpsText): unknown => [json === undefined ? 'none' : JSON.parse(json), ops];

test('[ST3] the JSON of ops that all hear is made once, and says the same as they do', () => {
  const ops = [
    updateObject('2:0', 'root', { opId: '2:0', text: '"opId":"2:0",', deep: { opId: '2:0' } }),
    createRegister('2:1', '2:1', 'root', 'r', ['{', '\\"', null]),
    deleteKey('2:2', 'root', 'text'),
  ];
  const { replies, forwards, journal } = withTexts(apply(furnished(), ...ops));
  expect(read(replies)).toEqual([ops, ops]);
  expect(read(forwards)).toEqual([ops.map(untagged), ops.map(untagged)]);
  expect(journal.json).toBe(replies.json);
});

test.each([
  ['an op without an effect', [deleteKey('2:0', '9:9', 'a'), updateObject('2:1', 'root', { a: 1 })]],
  ['an op of an earlier connection', [updateObject('1:9', 'root', { a: 1 }), createMap('1:8', '1:8', 'root', 'n')]],
  ['a create that is here already', [createMap('2:0', '1:0', 'root', 'm'), updateObject('2:1', 'root', { a: 1 })]],
])('[ST3] %s: where they hear different ops, each says its own', (_, ops) => {
  const applied = apply(furnished(), ...ops);
  const told = withTexts(applied);
  for (const name of ['replies', 'forwards', 'journal'] as const) {
    const { ops: said, json = JSON.stringify(said) } = told[name];
    expect(said).toBe(applied[name]);
    expect(JSON.parse(json)).toEqual(applied[name]);
  }
});

test('[ST3] an op that is told after another that follows from it is told as itself', () => {
  const op = updateObject('2:0', 'root', { a: 1 });
  const fix: Op = { type: 5, id: '1:1' };
  const applied = { ...nothingApplied(), replies: [op], forwards: [fix, untagged(op)], journal: [op] };
  expect(withTexts(applied)).toEqual({ replies: { ops: [op] }, forwards: { ops: applied.forwards }, journal: { ops: [op] } });
});

test('[ST3] ops without an opId are told as they are', () => {
  const op = untagged(updateObject('2:0', 'root', { a: 1 }));
  const applied = { ...nothingApplied(), replies: [op], forwards: [op], journal: [op] };
  expect(withTexts(applied).journal).toEqual({ ops: [op] });
});
