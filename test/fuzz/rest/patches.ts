/** JSON Patches drawn by dice, against what RFC 6902 makes of them: a patch is taken or refused as there, and the document is the same. */
import { isDeepStrictEqual } from 'node:util';
import { ask, roomPath } from '../../support/e2e/rest.ts';
import { freshRoomId, type TestServer } from '../../support/e2e/server.ts';
import { Dice } from '../dice.ts';
import { hostileText, isObject } from './hostile.ts';

type Doc = Record<string, unknown>;
interface Step {
  readonly op: string;
  readonly path: string;
  readonly from?: string;
  readonly value?: unknown;
}

export async function playPatches(server: TestServer, { seed, patches }: { seed: number; patches: number }): Promise<string[]> {
  const dice = new Dice(seed);
  const roomId = freshRoomId('patches');
  await ask(server, '/v2/rooms', { json: { id: roomId, defaultAccesses: [] } });
  let doc: Doc = {};
  const faults: string[] = [];
  for (let count = 0; count < patches; count += 1) {
    const draft = structuredClone(doc);
    const steps: Step[] = [];
    let isRefused = false;
    for (let left = dice.below(6); left >= 0 && !isRefused; left -= 1) {
      const step = aStep(dice, draft);
      steps.push(step);
      isRefused = !apply(draft, step);
    }
    const answer = await ask(server, roomPath(roomId, '/storage/json-patch'), { method: 'PATCH', json: steps });
    const now = (await ask(server, roomPath(roomId, '/storage?format=json'))).json;
    const told = () =>
      `${JSON.stringify(doc).slice(0, 900)} and ${JSON.stringify(steps).slice(0, 900)}: ${answer.status} ${answer.text.slice(0, 300)}`;
    if (answer.status >= 500) faults.push(`failure: ${told()}`);
    if ((answer.status === 200) === isRefused) faults.push(`${isRefused ? 'to be refused' : 'to be taken'}: ${told()}`);
    const wanted = JSON.parse(JSON.stringify(answer.status === 200 && !isRefused ? draft : doc));
    if (!isDeepStrictEqual(now, wanted)) faults.push(`${told()}\n  is ${JSON.stringify(now)}\n  not ${JSON.stringify(wanted)}`);
    doc = now;
  }
  return faults;
}

const VALUES = [
  0,
  -0,
  1.5,
  1e20,
  5e-324,
  '',
  'text',
  true,
  null,
  [],
  {},
  [1, [2], { a: [] }],
  { a: { b: null }, '': 1, 'a/b': 2, '~': 3 },
];

function aStep(dice: Dice, doc: Doc): Step {
  const op = dice.weighted({ add: 6, remove: 2, replace: 2, move: 3, copy: 3, test: 2 });
  const path = pointer(dice, doc);
  if (op === 'remove') return { op, path };
  if (op === 'move' || op === 'copy') return { op, from: pointer(dice, doc), path };
  const there = find(doc, path);
  if (op === 'test' && there !== undefined && dice.chance(0.8)) return { op, path, value: structuredClone(there) };
  return { op, path, value: dice.pick(VALUES) };
}

function pointer(dice: Dice, doc: Doc): string {
  const all: string[] = [];
  const walk = (value: unknown, above: string): void => {
    if (typeof value !== 'object' || value === null) return;
    for (const [key, part] of Object.entries(value)) {
      const here = `${above}/${escaped(key)}`;
      all.push(here);
      walk(part, here);
    }
    if (Array.isArray(value)) all.push(`${above}/-`, `${above}/${value.length}`);
  };
  walk(doc, '');
  if (all.length > 0 && dice.chance(0.6)) return dice.pick(all);
  const above = all.length > 0 && dice.chance(0.6) ? dice.pick(all) : '';
  return `${above}/${dice.pick(['a', 'b', '0', '1', '-', '00', '-1', '1e0', '', ' ', 'toString', 'length', 'é', 'e\u0301', '~01', '~1', escaped(hostileText(dice).slice(0, 60))])}`;
}

const FORBIDDEN = ['__proto__', 'constructor', 'prototype'];
const escaped = (key: string): string => key.replaceAll('~', '~0').replaceAll('/', '~1');
const segmentsOf = (path: string): string[] =>
  path
    .split('/')
    .slice(1)
    .map((segment) => segment.replaceAll('~1', '/').replaceAll('~0', '~'));

function find(doc: unknown, path: string): unknown {
  return segmentsOf(path).reduce<unknown>((value, key) => {
    if (Array.isArray(value)) return /^(0|[1-9]\d*)$/.test(key) ? value[Number(key)] : undefined;
    return isObject(value) && Object.hasOwn(value, key) ? value[key] : undefined;
  }, doc);
}

/** Changes `doc`; false when the step is refused. */
function apply(doc: Doc, { op, path, from, value }: Step): boolean {
  if ([path, from ?? '/a'].some((one) => segmentsOf(one).some((key) => FORBIDDEN.includes(key)))) return false;
  if (op === 'add') return put(doc, path, structuredClone(value));
  if (op === 'test') return find(doc, path) !== undefined && isDeepStrictEqual(plain(find(doc, path)), plain(value));
  if (op === 'copy') return find(doc, from!) !== undefined && put(doc, path, structuredClone(find(doc, from!)));
  if (op === 'remove') return take(doc, path);
  if (op === 'replace') return find(doc, path) !== undefined && take(doc, path) && put(doc, path, structuredClone(value));
  if (path.startsWith(`${from}/`)) return false;
  const moved = find(doc, from!);
  return moved !== undefined && (from === path || (take(doc, from!) && put(doc, path, moved)));
}

const plain = (value: unknown): unknown => JSON.parse(JSON.stringify(value));

function put(doc: Doc, path: string, value: unknown): boolean {
  const above = find(doc, path.slice(0, path.lastIndexOf('/')));
  const key = segmentsOf(path).at(-1)!;
  if (Array.isArray(above)) {
    if (key !== '-' && !(/^(0|[1-9]\d*)$/.test(key) && Number(key) <= above.length)) return false;
    above.splice(key === '-' ? above.length : Number(key), 0, value);
    return true;
  }
  if (!isObject(above)) return false;
  above[key] = value;
  return true;
}

function take(doc: Doc, path: string): boolean {
  if (find(doc, path) === undefined) return false;
  const above = find(doc, path.slice(0, path.lastIndexOf('/')));
  const key = segmentsOf(path).at(-1)!;
  if (Array.isArray(above)) above.splice(Number(key), 1);
  else delete (above as Doc)[key];
  return true;
}
