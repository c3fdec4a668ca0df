import { readdirSync, readFileSync } from 'node:fs';
import { expect, test } from 'vitest';
import { rowsNamedIn, specViolations, type TestFile } from './support/spec-rules.ts';

function tests(): TestFile[] {
  return readdirSync('test', { recursive: true, encoding: 'utf8' })
    .map((name) => `test/${name.replaceAll('\\', '/')}`)
    .filter((path) => /\.(test|contract)\.ts$/.test(path))
    .map((path) => ({ path, text: readFileSync(path, 'utf8') }));
}

test('[SP1] SPEC.md and the tests quote each other, rule by rule and row by row', () => {
  expect(specViolations(readFileSync('test/SPEC.md', 'utf8'), tests())).toEqual([]);
});

test('[SP4] every edge case of the supplement is named by a rule or a test, or known not to be served', () => {
  const named = rowsNamedIn([readFileSync('test/SPEC.md', 'utf8'), ...tests().map(({ text }) => text)].join('\n'));
  expect(Array.from({ length: EDGE_CASES }, (_, index) => index + 1).filter((edge) => !named.has(edge))).toEqual([]);
  expect([...rowsNamedIn('rows 1, 3 and 5 to 7; row 9 of 10')].sort()).toEqual([1, 3, 5, 6, 7, 9]);
});

/** Rows in section 7 of the supplement. */
const EDGE_CASES = 127;

const row = (name: string, cited: string) => `| \`${name}\` | what it promises | ${cited} |`;
const PAGE = ['# Rules', '- AA1 One.', '- AA2 Two.', '- E2E check 3 Three.', row('GET /x', 'AA1, E2E check 3')].join('\n');

/** A test's name that quotes these. It is made, not written, so that this file quotes only its own rules. */
const quoting = (...ids: string[]): string => `${ids.map((id) => `[${id}]`).join(' ')} %s is so`;
const NAMES = [quoting('AA1'), quoting('AA2', 'E2E check 3'), quoting('contract: GET /x', 'AA1')];
/** Tests of these names, written as they stand in a file: on one line, and after a line break. */
const named = (names: readonly string[]): TestFile[] => [
  {
    path: 'test/a.test.ts',
    text: names.map((name) => `test('${name}', () => {});\ntest.each([])(\n  '${name}',\n);`).join('\n'),
  },
];

test.each<[name: string, page: string, names: string[], violation: string]>([
  ['an id without a rule', PAGE, [...NAMES, quoting('AA4')], 'add to test/SPEC.md, as a sentence of its own, "- AA4 %s is so"'],
  ['an id that begins like one', PAGE, [...NAMES, quoting('AA11')], 'test/a.test.ts quotes AA11'],
  ['a second id without a rule', PAGE, [...NAMES, quoting('AA1', 'BB1')], 'test/a.test.ts quotes BB1'],
  ['a rule without a test', `${PAGE}\n- AA5 Five.`, NAMES, 'AA5 is in test/SPEC.md, and no test quotes it'],
  ['a check without a test', `${PAGE}\n- E2E check 4 Four.`, NAMES, 'E2E check 4 is in test/SPEC.md, and no test quotes it'],
  ['a rule quoted inside a sentence', `${PAGE}\n- AA5 Five.`, [...NAMES, `as in ${quoting('AA5')}`], 'AA5 is in test/SPEC.md'],
  ['a rule twice', `${PAGE}\n- AA1 Once more.`, NAMES, 'AA1 stands twice in test/SPEC.md'],
  [
    'a row without a test',
    `${PAGE}\n${row('PUT /x', 'AA1')}`,
    NAMES,
    'contract: PUT /x is in test/SPEC.md, and no test quotes it',
  ],
  ['a row that is not in the page', PAGE, [...NAMES, quoting('contract: PUT /x')], 'names the row "contract: PUT /x"'],
  ['a row that names no rule', PAGE.replace('AA1, E2E', 'AA9, E2E'), NAMES, 'the row of contract: GET /x names AA9'],
])('[SP2] a planted violation is found: %s', (_, page, names, violation) => {
  expect(specViolations(page, named(names))).toEqual([expect.stringContaining(violation)]);
});

test('[SP3] nothing is found where page and tests agree, whatever brackets there are besides', () => {
  expect(specViolations(PAGE, named([...NAMES, 'a list [1] of [A]', '[draft] no id', '[1,2]']))).toEqual([]);
});
