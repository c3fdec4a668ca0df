/** Values against schemas: compiled once, and when a value does not fit, the one reason that tells its sender most. */
import type { TSchema } from 'typebox';
import type { TLocalizedValidationError } from 'typebox/error';
import { Settings } from 'typebox/system';
import { compileSchema } from '../../base/compile-schema.ts';
import { AppError, missingKey, valueAtKey } from '../../base/errors.ts';
import { type Misfit, misfitOf } from '../../base/misfit.ts';
import { changedSchema } from '../../base/schemas.ts';

// Its default of 8 loses the end of a union of nine literals, and with it the sense of the first eight.
Settings.Set({ maxErrors: 64 });

/** Returns the value when it fits. @throws AppError UNPROCESSABLE_ENTITY naming key and reason (supplement 1.8). */
export type Check = (value: unknown) => unknown;

/** `whole` names the value itself, for when it is wrong as a whole: "The body". */
export function makeCheck(schema: TSchema, whole: string): Check {
  const strict = changedSchema(schema, withStrictRecords);
  const compiled = compileSchema(strict);
  return (value) => {
    if (compiled.Check(value)) return value;
    throw refusalOf(misfitOf(strict, value), whole);
  };
}

/** `Type.Record` matches keys with /^.*$/, and a dot is no line feed: a key with one would pass with any value. */
function withStrictRecords(copy: Record<string, unknown>): Record<string, unknown> {
  const { '^.*$': values, ...others } = (copy.patternProperties ?? {}) as Record<string, unknown>;
  if (values === undefined || copy.additionalProperties !== undefined) return copy;
  return Object.assign(copy, { patternProperties: others, additionalProperties: values });
}

type Problem = TLocalizedValidationError;

function refusalOf({ path: above, problems }: Misfit, whole: string): AppError {
  const problem = mostTelling(problems);
  if (problem === undefined) return new AppError('UNPROCESSABLE_ENTITY', { reason: `${whole} is not valid` });
  const path = [...above.map(shortened), ...keysOf(problem.instancePath)];
  if (problem.keyword === 'required') return missingKey([...path, problem.params.requiredProperties[0]!].join('.'));
  if (problem.keyword === 'additionalProperties') path.push(problem.params.additionalProperties[0]!);
  const reason = reasonOf(problem);
  return path.length === 0
    ? new AppError('UNPROCESSABLE_ENTITY', { reason: `${whole} ${reason}` })
    : valueAtKey(path.join('.'), reason);
}

const KEY_LENGTH_MAX = 100;

/** A JSON pointer's keys; cut, for they may be the client's own. */
function keysOf(pointer: string): string[] {
  return pointer
    .split('/')
    .slice(1)
    .map((key) => shortened(key.replaceAll('~1', '/').replaceAll('~0', '~')));
}

function shortened(key: string): string {
  return key.slice(0, KEY_LENGTH_MAX);
}

/**
 * The first problem; where it comes from a branch of a union, the first of the branch that was meant. A branch was not meant when the
 * value is of another type altogether, or a constant that marks the branch is another one.
 */
function mostTelling(problems: readonly Problem[]): Problem | undefined {
  const [first] = problems;
  if (first === undefined) return undefined;
  const union = problems.find((problem) => problem.keyword === 'anyOf' && isWithin(first, problem));
  if (union === undefined || union === first) return first;
  const branches = branchesOf(union, problems);
  const meant = branches.find((branch) => branch.every((problem) => !marksBranch(problem, union)));
  return meant === undefined ? summaryOf(union, branches) : mostTelling(meant);
}

function isWithin(problem: Problem, union: Problem): boolean {
  return problem.schemaPath.startsWith(`${union.schemaPath}/anyOf/`) && problem.instancePath.startsWith(union.instancePath);
}

function branchesOf(union: Problem, problems: readonly Problem[]): Problem[][] {
  const branches = new Map<string, Problem[]>();
  const from = union.schemaPath.length + '/anyOf/'.length;
  for (const problem of problems) {
    if (!isWithin(problem, union)) continue;
    const [name] = problem.schemaPath.slice(from).split('/');
    branches.set(name!, [...(branches.get(name!) ?? []), problem]);
  }
  return [...branches.values()];
}

function marksBranch(problem: Problem, union: Problem): boolean {
  const depth = keysOf(problem.instancePath).length - keysOf(union.instancePath).length;
  if (depth === 0) return problem.keyword === 'type' || problem.keyword === 'const' || problem.keyword === 'enum';
  return depth === 1 && problem.keyword === 'const';
}

/** No branch was meant: what all of them would have taken at the place where they differ. */
function summaryOf(union: Problem, branches: readonly Problem[][]): Problem {
  const marks = branches.map((branch) => branch.find((problem) => marksBranch(problem, union))!);
  const constants = marks.filter((mark) => mark.keyword === 'const');
  const place = constants[0]?.instancePath ?? union.instancePath;
  const there = marks.filter((mark) => mark.instancePath === place);
  const choices = there.flatMap(choicesOf);
  return { ...union, instancePath: place, message: `must be ${listed([...new Set(choices)])}` };
}

function choicesOf(problem: Problem): string[] {
  switch (problem.keyword) {
    case 'type':
      return [problem.params.type].flat().map((type) => TYPES[type] ?? type);
    case 'const':
      return [shown(problem.params.allowedValue)];
    case 'enum':
      return problem.params.allowedValues.map(shown);
    default:
      return [];
  }
}

function listed(choices: readonly string[]): string {
  return choices.length < 2 ? choices.join('') : `${choices.slice(0, -1).join(', ')} or ${choices.at(-1)}`;
}

const TYPES: Readonly<Record<string, string>> = {
  string: 'a string',
  number: 'a number',
  integer: 'an integer',
  boolean: 'true or false',
  object: 'an object',
  array: 'an array',
  null: 'null',
};

/** What is wrong, as the rest of a sentence that begins with the key. */
function reasonOf(problem: Problem): string {
  if (problem.schemaPath.endsWith('/propertyNames')) return `may not have this name: a name ${ruleOf(problem)}`;
  return ruleOf(problem);
}

function ruleOf(problem: Problem): string {
  switch (problem.keyword) {
    case 'type':
    case 'const':
    case 'enum':
      return `must be ${listed(choicesOf(problem))}`;
    case 'boolean':
    case 'additionalProperties':
      return 'is not known here';
    case 'minLength':
      return problem.params.limit === 1 ? 'must not be empty' : `must have at least ${problem.params.limit} characters`;
    case 'maxLength':
      return `must have at most ${problem.params.limit} characters`;
    case 'minimum':
      return `must be at least ${problem.params.limit}`;
    case 'maximum':
      return `must be at most ${problem.params.limit}`;
    case 'minItems':
      return `must have at least ${problem.params.limit} items`;
    case 'maxItems':
      return `must have at most ${problem.params.limit} items`;
    case 'uniqueItems':
      return 'must not hold the same item twice';
    case 'minProperties':
      return `must have at least ${problem.params.limit} entries`;
    case 'maxProperties':
      return `must have at most ${problem.params.limit} entries`;
    case 'pattern':
      return `must match ${problem.params.pattern}`;
    case 'format':
      return `must be a ${problem.params.format}`;
    default:
      return problem.message; // a rule of the route's own (`Type.Refine`), or a rare keyword
  }
}

function shown(value: unknown): string {
  return typeof value === 'string' ? `'${value}'` : JSON.stringify(value);
}
