/** Calls drawn by dice, one after the other, and what was wrong with their answers. */
import { contractOf } from '../../support/e2e/contract.ts';
import type { TestServer } from '../../support/e2e/server.ts';
import type { World } from '../../support/operations/example.ts';
import { EXAMPLES } from '../../support/operations/examples.ts';
import type { Walked } from '../../support/operations/operation.ts';
import { Dice } from '../dice.ts';
import { aCall, type Call } from './calls.ts';
import { faultsOf, unshown } from './judge.ts';
import { contradictionIn, differenceOf, type Looks, looksAt } from './looks.ts';
import { exchange, type Reply, type Request } from './wire.ts';

export interface PlayOptions {
  readonly server: TestServer;
  /** To draw from. */
  readonly operations: readonly Walked[];
  /** What the log has said at level error since it was asked last. */
  readonly errors: () => readonly string[];
  readonly seed: number;
  readonly calls: number;
}

/** Each fault with the request and the answer. */
export async function playCalls({ server, operations, errors, seed, calls }: PlayOptions): Promise<string[]> {
  const dice = new Dice(seed);
  const world: World = { ...contractOf(server), server };
  const known = operations.filter(({ name }) => EXAMPLES[name] !== undefined);
  const faults: string[] = [];
  for (let count = 0; count < calls; count += 1) {
    const call = await aCall(dice, dice.pick(known), world);
    const found = await faultsWith(call, server).catch((error: unknown) => [`it got no answer: ${error}`]);
    const logged = errors().map((line) => `the log says ${line.slice(0, 600)}`);
    faults.push(...[...found, ...logged].map((fault) => `${call.walked.name}: ${fault}\n  > ${shown(call.request)}`));
  }
  return faults;
}

async function faultsWith(call: Call, server: TestServer): Promise<string[]> {
  const { walked, request, names } = call;
  if (walked.method === 'GET') return faultsOf(call, await exchange(server.url, request));
  const before = await looksAt(server, names);
  const reply = await exchange(server.url, request);
  const again = isKnownAgain(call, reply) ? await exchange(server.url, request) : reply;
  const after = await looksAt(server, names);
  return [
    ...faultsOf(call, reply),
    ...(again.status === reply.status && again.text === reply.text
      ? []
      : [`again, under its key, it is ${again.status} ${again.text}`]),
    ...(reply.status >= 400 ? said('it was refused, but', differenceOf(before, after)) : unshown(call, reply, after)),
    ...said('', contradictionIn(after)),
    ...said('', failureIn(after)),
  ].map((fault) => `${fault}\n  < ${reply.status} ${reply.text.slice(0, 400)}`);
}

function isKnownAgain({ walked: { operation }, request: { headers } }: Call, { status }: Reply): boolean {
  const takesKeys = operation.parameters?.some(({ name }) => name === 'Idempotency-Key') === true;
  return takesKeys && typeof headers['idempotency-key'] === 'string' && status < 300;
}

function failureIn(looks: Looks): string | null {
  const failed = Object.entries(looks).find(([, { status }]) => status >= 500);
  return failed === undefined ? null : `${failed[0]} is a ${failed[1].status}`;
}

const said = (before: string, what: string | null): string[] => (what === null ? [] : [`${before} ${what}`]);

function shown({ method, path, headers, body = '' }: Request): string {
  const text = typeof body === 'string' ? body : `bytes ${Buffer.from(body).toString('hex')}`;
  return `${method} ${path.slice(0, 300)} ${JSON.stringify(headers).slice(0, 300)} ${text.slice(0, 700)}`;
}
