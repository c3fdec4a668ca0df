/**
 * Two workers meet: the handshake over a fresh connection, from either side. Who is let in is decided here; what becomes of the connection is not.
 */
import { connect, type Socket } from 'node:net';
import type { Clock, Random } from '../base/clock.ts';
import type { WorkerAddress } from '../base/ids.ts';
import type { Keyring } from '../base/keyring.ts';
import { FirstBytes } from './tcp-bus-first-bytes.ts';
import {
  HEAD_BYTES,
  isProof,
  linkIdOf,
  NONCE_BYTES,
  PROOF_BYTES,
  packHello,
  packWelcome,
  proofOf,
  readHead,
  type Transcript,
  unpackHello,
  unpackWelcome,
} from './tcp-bus-handshake.ts';
import { TIMES } from './tcp-bus-limits.ts';

/** Who we are to other workers. */
export interface Self {
  readonly address: WorkerAddress;
  /** This process's own random name: another life under the same address has another. */
  readonly life: string;
  /** The first is what a dialer proves to have; a listener takes each. */
  readonly secrets: Keyring;
  readonly clock: Clock;
  readonly random: Random;
  /** All that are open, whoever dialed. */
  readonly sockets: Set<Socket>;
}

/** A connection whose other end has proved to be a worker. */
export interface Met {
  readonly socket: Socket;
  /** What came after the handshake. */
  readonly rest: Uint8Array;
  readonly linkId: string;
  readonly peer: WorkerAddress;
  readonly peerLife: string;
  /** The link that the dialer knows for dead. */
  readonly endedLinkId: string;
}

export type Refusal =
  | 'ended early'
  | 'no worker'
  | 'newer version'
  | 'other address'
  | 'our own address'
  | 'wrong secret'
  | 'not reached';
export type Meeting = Met | { readonly refused: Refusal };

/** A dialer needs less than this before it has its welcome. */
const STRANGER_BYTES_MAX = 1_024;
/** The first frames may come right behind the proof: one read of the socket. */
const LISTENER_BYTES_MAX = 128 * 1024;

/** Enters a new socket. */
export function keep(socket: Socket, sockets: Set<Socket>): void {
  sockets.add(socket);
  socket.once('close', () => sockets.delete(socket));
  socket.on('error', () => undefined); // 'close' follows, which is heard by whoever has the socket then
}

/** The handshake with who dialed us. A stranger learns our life's name and a nonce, nothing else. The caller destroys a refused socket. */
export async function greet(socket: Socket, self: Self): Promise<Meeting> {
  const firstBytes = new FirstBytes(socket, { heldBytesMax: STRANGER_BYTES_MAX });
  const cancel = self.clock.after(TIMES.handshakeMs, () => socket.destroy());
  try {
    const word = await readWord(firstBytes, 'hello');
    if (typeof word === 'string') return { refused: word };
    const hello = unpackHello(word.subarray(HEAD_BYTES));
    if (hello === null) return { refused: 'no worker' };
    if (hello.to !== self.address) return { refused: 'other address' };
    if (hello.from === self.address) return { refused: 'our own address' };
    const welcome = packWelcome({ nonce: self.random.bytes(NONCE_BYTES), life: self.life });
    const transcript: Transcript = [word, welcome];
    socket.write(welcome);
    const proof = await firstBytes.read(PROOF_BYTES);
    if (proof === null) return { refused: 'ended early' };
    const secret = self.secrets.find((one) => isProof(proof, 'dialer', one, transcript));
    if (secret === undefined) return { refused: 'wrong secret' };
    socket.write(proofOf('listener', secret, transcript));
    return met({
      socket,
      firstBytes,
      secret,
      transcript,
      peer: hello.from,
      peerLife: hello.life,
      endedLinkId: hello.endedLinkId,
    });
  } finally {
    cancel();
  }
}

export interface Dialing {
  readonly outcome: Promise<Meeting>;
  /** Ends it as refused. */
  abort(): void;
}

/** Connects to `to` and shakes hands; refused by itself when the connection is not made in time, otherwise it waits until it is aborted. */
export function dial({ to, endedLinkId }: { to: WorkerAddress; endedLinkId: string }, self: Self): Dialing {
  const place = placeOf(to);
  if (place === null) return { outcome: Promise.resolve({ refused: 'not reached' }), abort: () => undefined };
  const socket = connect(place);
  socket.setNoDelay(true);
  keep(socket, self.sockets);
  const cancel = self.clock.after(TIMES.connectMs, () => socket.destroy());
  let isReached = false;
  socket.once('connect', () => {
    isReached = true;
    cancel();
  });
  const outcome = introduce(socket, { to, endedLinkId }, self).then((meeting) => {
    cancel();
    if (!('refused' in meeting)) return meeting;
    socket.destroy();
    return isReached ? meeting : ({ refused: 'not reached' } as const);
  });
  return { outcome, abort: () => socket.destroy() };
}

async function introduce(
  socket: Socket,
  { to, endedLinkId }: { to: WorkerAddress; endedLinkId: string },
  self: Self,
): Promise<Meeting> {
  const firstBytes = new FirstBytes(socket, { heldBytesMax: LISTENER_BYTES_MAX });
  const hello = packHello({ nonce: self.random.bytes(NONCE_BYTES), endedLinkId, life: self.life, from: self.address, to });
  socket.write(hello);
  const word = await readWord(firstBytes, 'welcome');
  if (typeof word === 'string') return { refused: word };
  const welcome = unpackWelcome(word.subarray(HEAD_BYTES));
  if (welcome === null) return { refused: 'no worker' };
  const transcript: Transcript = [hello, word];
  const [secret] = self.secrets;
  socket.write(proofOf('dialer', secret, transcript));
  const proof = await firstBytes.read(PROOF_BYTES);
  if (proof === null) return { refused: 'ended early' };
  if (!isProof(proof, 'listener', secret, transcript)) return { refused: 'wrong secret' };
  return met({ socket, firstBytes, secret, transcript, peer: to, peerLife: welcome.life, endedLinkId });
}

/** A word with its head, or why it is not listened to. */
async function readWord(firstBytes: FirstBytes, kind: 'hello' | 'welcome'): Promise<Uint8Array | Refusal> {
  const head = await firstBytes.read(HEAD_BYTES);
  if (head === null) return 'ended early';
  const size = readHead(head, kind);
  if (typeof size === 'string') return size;
  const body = await firstBytes.read(size);
  return body === null ? 'ended early' : new Uint8Array(Buffer.concat([head, body]));
}

function met({
  firstBytes,
  secret,
  transcript,
  ...parts
}: Omit<Met, 'rest' | 'linkId'> & { firstBytes: FirstBytes; secret: Uint8Array; transcript: Transcript }): Meeting {
  const rest = firstBytes.release();
  return rest === null ? { refused: 'ended early' } : { ...parts, rest, linkId: linkIdOf(secret, transcript) };
}

const ADDRESS = /^(?:\[([\da-f:.%\w]+)\]|([^:[\]]+)):(\d{1,5})$/i;

/** host:port or [v6]:port; null when it is neither. */
function placeOf(address: WorkerAddress): { host: string; port: number } | null {
  const [, v6, name, digits] = ADDRESS.exec(address) ?? [];
  const port = Number(digits);
  return port > 0 && port <= 65_535 && address.length <= 255 ? { host: (v6 ?? name)!, port } : null;
}
