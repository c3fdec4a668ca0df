/**
 * Requests to addresses that others have named, over node:http. A name is looked up once; what it leads to is judged, and the connection
 * goes to the very address that was judged. Each request has a connection of its own.
 */
import { request as requestHttp } from 'node:http';
import { request as requestHttps } from 'node:https';
import { isIP, type LookupFunction } from 'node:net';
import type { Outgoing, OutgoingOutcome, OutgoingPost } from '../kernel/transport/outgoing.ts';
import { Deadline } from './deadline.ts';
import { HostNames } from './host-names.ts';
import { isPublicAddress } from './special-addresses.ts';

export interface HttpOutgoingOptions {
  /** all: private addresses too, and http. */
  readonly targets: 'public' | 'all';
  readonly names?: Pick<HostNames, 'addressesOf'>;
}

/** Of an answer's body so much is taken in, and thrown away. */
const ANSWER_BYTES_MAX = 65_536;
const PROBLEM_LENGTH_MAX = 200;

export class HttpOutgoing implements Outgoing {
  readonly #isAnyAllowed: boolean;
  readonly #names: Pick<HostNames, 'addressesOf'>;

  constructor({ targets, names = new HostNames() }: HttpOutgoingOptions) {
    this.#isAnyAllowed = targets === 'all';
    this.#names = names;
  }

  objectionTo({ protocol, hostname, username, password }: URL): string | null {
    if (protocol !== 'https:' && !(protocol === 'http:' && this.#isAnyAllowed))
      return this.#isAnyAllowed ? 'must begin with https:// or http://' : 'must begin with https://';
    if (username !== '' || password !== '') return 'may not hold credentials';
    const host = plainHost(hostname);
    return isIP(host) !== 0 && !this.#mayReach(host) ? 'is a private or special address' : null;
  }

  async post({ url, headers, body, timeoutMs, signal: given }: OutgoingPost): Promise<OutgoingOutcome> {
    const deadline = new Deadline(timeoutMs, given);
    const { signal } = deadline;
    try {
      const target = new URL(url);
      const objection = this.objectionTo(target);
      if (objection !== null) return failed(`the address ${objection}`);
      const host = plainHost(target.hostname);
      const addresses = isIP(host) === 0 ? await unlessAborted(this.#names.addressesOf(host), signal) : [host];
      const allowed = addresses.filter((address) => this.#mayReach(address));
      if (allowed.length === 0) return failed('its name leads to a private or special address');
      return await send(target, { headers, body, signal, lookup: pinnedTo(allowed) });
    } catch (error) {
      return failed(deadline.isLate ? `no answer within ${timeoutMs / 1_000} s` : reasonOf(error));
    } finally {
      deadline.end();
    }
  }

  #mayReach(address: string): boolean {
    return this.#isAnyAllowed || isPublicAddress(address);
  }
}

interface Sending extends Pick<OutgoingPost, 'headers' | 'body' | 'signal'> {
  readonly lookup: LookupFunction;
}

function send(target: URL, { headers, body, signal, lookup: look }: Sending): Promise<OutgoingOutcome> {
  return new Promise((resolve, reject) => {
    const request = target.protocol === 'https:' ? requestHttps : requestHttp;
    let status: number | null = null;
    const sent = request(target, { method: 'POST', headers, lookup: look, signal, agent: false }, (answer) => {
      status = answer.statusCode ?? 0;
      const answered = (): void => resolve({ kind: 'answered', status: status! });
      let bytes = 0;
      answer.on('data', (piece: Uint8Array) => {
        bytes += piece.byteLength;
        if (bytes > ANSWER_BYTES_MAX) answer.destroy();
      });
      answer.on('error', answered);
      answer.on('close', answered);
    });
    // Once the status is known it counts, however the rest ends.
    const ended = (error: Error): void => (status === null ? reject(error) : resolve({ kind: 'answered', status }));
    sent.on('error', ended);
    sent.on('close', () => ended(new Error('closed without an answer'))); // as of one that wants to speak another protocol
    sent.end(body);
  });
}

/** A look-up may take its time, and not every one can be given up. */
function unlessAborted<Value>(work: Promise<Value>, signal: AbortSignal): Promise<Value> {
  return new Promise((resolve, reject) => {
    const giveUp = (): void => reject(signal.reason);
    signal.addEventListener('abort', giveUp, { once: true });
    work.then(resolve, reject).finally(() => signal.removeEventListener('abort', giveUp));
  });
}

/** Answers every look-up of a connection with these addresses, so that it cannot lead anywhere else meanwhile. */
function pinnedTo(addresses: readonly string[]): LookupFunction {
  const entries = addresses.map((address) => ({ address, family: isIP(address) }));
  return (_name, { all }, callback) => {
    if (all === true) callback(null, entries);
    else callback(null, entries[0]!.address, entries[0]!.family);
  };
}

function codeOf(error: unknown): string | undefined {
  return error instanceof Error && 'code' in error && typeof error.code === 'string' ? error.code : undefined;
}

/** IPv6 addresses stand in brackets in a URL. */
function plainHost(hostname: string): string {
  return hostname.startsWith('[') ? hostname.slice(1, -1) : hostname;
}

function failed(problem: string): OutgoingOutcome {
  return { kind: 'failed', problem: problem.slice(0, PROBLEM_LENGTH_MAX) };
}

function reasonOf(error: unknown): string {
  return codeOf(error) ?? (error instanceof Error ? error.message : 'unknown');
}
