/**
 * The addresses of names that others have named. Who asks for a name that is being looked up waits for that answer.
 *
 * DNS is asked without the few threads of this process. A name that it does not know may be one of this machine; the machine looks into DNS
 * anew, on one of the two threads that look-ups may have, for 10 s and more where DNS does not answer. It is asked for one name at a time, for
 * which no more wait than webhooks have names: the other thread is for Postgres, Redis and S3.
 */
import { lookup, Resolver } from 'node:dns/promises';

export interface LookUps {
  /** The addresses that DNS has, none where it does not know the name. @throws when it does not say. */
  readonly dns: (name: string) => Promise<readonly string[]>;
  /** @throws when the machine does not know it either. */
  readonly machine: (name: string) => Promise<readonly string[]>;
}

const DNS_TRY_MS = 3_000;
const DNS_TRIES = 2;
const UNKNOWN: ReadonlySet<string> = new Set(['ENOTFOUND', 'ENODATA', 'ECONNREFUSED']);

export class HostNames {
  readonly #lookUps: LookUps;
  readonly #underWay = new Map<string, Promise<readonly string[]>>();
  #lastOfMachine: Promise<unknown> = Promise.resolve();

  constructor(lookUps: LookUps = { dns: askDns, machine: askMachine }) {
    this.#lookUps = lookUps;
  }

  /** @throws what the look-up says. */
  addressesOf(name: string): Promise<readonly string[]> {
    const found = this.#underWay.get(name) ?? this.#lookUp(name).finally(() => this.#underWay.delete(name));
    this.#underWay.set(name, found);
    return found;
  }

  async #lookUp(name: string): Promise<readonly string[]> {
    if (/(^|\.)localhost$/.test(name)) return ['127.0.0.1', '::1']; // as every machine has it, with DNS or without
    const addresses = await this.#lookUps.dns(name);
    return addresses.length > 0 ? addresses : this.#askMachine(name);
  }

  #askMachine(name: string): Promise<readonly string[]> {
    const answer = this.#lastOfMachine.then(() => this.#lookUps.machine(name));
    this.#lastOfMachine = answer.catch(() => undefined);
    return answer;
  }
}

async function askDns(name: string): Promise<readonly string[]> {
  const resolver = new Resolver({ timeout: DNS_TRY_MS, tries: DNS_TRIES });
  const answers = await Promise.allSettled([resolver.resolve4(name), resolver.resolve6(name)]);
  const addresses = answers.flatMap((answer) => (answer.status === 'fulfilled' ? answer.value : []));
  if (addresses.length > 0) return addresses;
  const reasons = answers.flatMap((answer) => (answer.status === 'rejected' ? [answer.reason as NodeJS.ErrnoException] : []));
  const saysNothing = reasons.find(({ code = '' }) => !UNKNOWN.has(code));
  if (saysNothing !== undefined) throw saysNothing;
  return [];
}

async function askMachine(name: string): Promise<readonly string[]> {
  return (await lookup(name, { all: true })).map(({ address }) => address);
}
