/**
 * `test/SPEC.md` held against the tests that quote it. Pure: `spec.test.ts` runs it on the repository and on planted violations.
 *
 * A test quotes a rule by its id at the start of its name, `[ST3] …`, and a row of the contract by what the row begins with,
 * `[contract: POST /rooms] …`; several may stand one after the other. In the page a rule is a line `- ST3 …`, and a row of the
 * contract a row of a table whose first cell is in backquotes and whose last names rules.
 */
export interface TestFile {
  /** Relative to the repository, with slashes. */
  readonly path: string;
  readonly text: string;
}

interface Quotation {
  /** What stands between the brackets. */
  readonly of: string;
  readonly sentence: string;
  readonly path: string;
}

const ID = String.raw`(?:[A-Z][A-Z0-9]*(?:-[A-Z]+)?\d+|E2E check \d+)`;
const ROW = 'contract: ';
const RULE_LINE = new RegExp(`^- (${ID}) \\S.*$`, 'gm');
const ROW_LINE = /^\| `([^`]+)` \|.*\| (.*) \|$/gm;
/** A text that begins with quotations: up to the end of the line or the closing quote, whatever comes first. */
const QUOTING = new RegExp(`(['"\`])((?:\\[(?:${ID}|${ROW}[^\\]\n]+)\\] ?)+)([^\n]*?)(?:\\1|\\n)`, 'g');

/** What does not fit, each with what to do about it. */
export function specViolations(spec: string, tests: readonly TestFile[]): string[] {
  const quotations = tests.flatMap(quotationsIn);
  const rules = [...spec.matchAll(RULE_LINE)].map(([, id]) => id!);
  const rows = [...spec.matchAll(ROW_LINE)].map(([, name, cited]) => ({ name: `${ROW}${name}`, cited: cited! }));
  const known = new Set([...rules, ...rows.map(({ name }) => name)]);
  const quoted = new Set(quotations.map((quotation) => quotation.of));
  return [
    ...firstOfEach(quotations.filter((quotation) => !known.has(quotation.of))).map(lineToAdd),
    ...repeated([...rules, ...rows.map(({ name }) => name)]).map((of) => `${of} stands twice in test/SPEC.md`),
    ...[...known].filter((of) => !quoted.has(of)).map((of) => `${of} is in test/SPEC.md, and no test quotes it`),
    ...rows.flatMap(({ name, cited }) => unknownIn(cited, known).map((id) => `the row of ${name} names ${id}, which is no rule`)),
  ];
}

function quotationsIn({ path, text }: TestFile): Quotation[] {
  return [...text.matchAll(QUOTING)].flatMap(([, , quotes, sentence]) =>
    [...quotes!.matchAll(/\[([^\]]+)\]/g)].map(([, of]) => ({ of: of!, sentence: sentence!, path })),
  );
}

function lineToAdd({ of, sentence, path }: Quotation): string {
  if (of.startsWith(ROW)) return `${path} names the row "${of}", which is no row of test/SPEC.md`;
  return `${path} quotes ${of}: add to test/SPEC.md, as a sentence of its own, "- ${of} ${sentence}"`;
}

function firstOfEach(quotations: readonly Quotation[]): Quotation[] {
  return [...new Map([...quotations].reverse().map((quotation) => [quotation.of, quotation])).values()].reverse();
}

function repeated(names: readonly string[]): string[] {
  return [...new Set(names.filter((name, at) => names.indexOf(name) !== at))];
}

function unknownIn(cited: string, known: ReadonlySet<string>): string[] {
  return cited.split(', ').filter((id) => !known.has(id));
}

/** Rows of the supplement's section 7 that a text names: `row 7`, `rows 7 and 9`, `rows 7 to 9`. */
export function rowsNamedIn(text: string): Set<number> {
  const rows = new Set<number>();
  for (const [named] of text.matchAll(/\brows? \d+(?:(?:, | and | or | to )\d+)*/g)) {
    for (const [, from, to] of named.matchAll(/(\d+) to (\d+)/g))
      for (let row = Number(from); row <= Number(to); row += 1) rows.add(row);
    for (const [row] of named.matchAll(/\d+/g)) rows.add(Number(row));
  }
  return rows;
}
