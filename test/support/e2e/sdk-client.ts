/** Real SDK clients in rooms: unchanged, apart from the network they are given. */
import { type Client, createClient, type LiveObject, type Room } from '@liveblocks/client';
import { onTestFinished } from 'vitest';
import { Network } from './network.ts';
import type { TestServer } from './server.ts';
import { accessTokenFor, type Person } from './tokens.ts';
import { until } from './until.ts';

type AnyRoom = Room<any, any, any, any>;

export interface Failure {
  readonly message: string;
  readonly code: number | undefined;
}

/** One person in one room, on one connection. */
export interface Visitor {
  readonly room: AnyRoom;
  readonly client: Client;
  readonly network: Network;
  /** Errors that the application was told of. */
  readonly errors: readonly Failure[];
  /** How often the application was asked for a token. */
  readonly tokensAsked: () => number;
  /** The connection id, once connected. */
  readonly actor: () => number;
  leave(): void;
}

export interface Visit extends Partial<Person> {
  readonly roomId: string;
  /** In place of a fresh access token for the person. */
  readonly token?: () => Promise<string>;
  readonly publicKey?: string;
  /** In place of the server's address. */
  readonly baseUrl?: string;
  /** The client gathers what it sends for so long; 16 ms when absent. */
  readonly throttle?: number;
  readonly initialPresence?: Record<string, unknown>;
  readonly initialStorage?: () => Record<string, any>;
}

/** Creates a client and sets out for the room, without waiting to arrive. */
export function visit(server: TestServer, { roomId, ...options }: Visit): Visitor {
  const network = new Network();
  let asked = 0;
  const authEndpoint = async (): Promise<{ token: string }> => {
    asked += 1;
    return {
      token: await (options.token ?? (() => accessTokenFor(server, { ...options, userId: options.userId ?? 'alice' })))(),
    };
  };
  const client = createClient({
    baseUrl: options.baseUrl ?? server.url,
    throttle: options.throttle ?? 16,
    polyfills: { WebSocket: network.WebSocket as any, fetch },
    ...(options.publicKey === undefined ? { authEndpoint } : { publicApiKey: options.publicKey }),
  });
  const errors: Failure[] = [];
  (client as any).events.error.subscribe((error: any) => errors.push({ message: error.message, code: error.context?.code }));
  const { room, leave } = client.enterRoom(roomId, {
    initialPresence: options.initialPresence ?? {},
    initialStorage: options.initialStorage?.() ?? {},
  } as any) as { room: AnyRoom; leave: () => void };
  const once = onlyOnce(leave);
  onTestFinished(once);
  return { room, client, network, errors, tokensAsked: () => asked, actor: () => room.getSelf()!.connectionId, leave: once };
}

/** Creates a client and waits until it is in the room. */
export async function enter(server: TestServer, options: Visit): Promise<Visitor> {
  const visitor = visit(server, options);
  await connected(visitor);
  return visitor;
}

export async function connected({ room, errors, network, tokensAsked }: Visitor): Promise<void> {
  await until('the client is connected', () => {
    const status = room.getStatus();
    if (status === 'connected') return room.getSelf();
    const { dialled, closeCodes, received } = network;
    const facts = { tokens: tokensAsked(), dialled: dialled.length, closeCodes, received: received.length, errors };
    throw new Error(`it is ${status}: ${JSON.stringify(facts)}`); // said when the wait is over
  });
}

/** The root of the room's Storage, loaded. */
export async function rootOf({ room }: Visitor): Promise<LiveObject<any>> {
  return (await room.getStorage()).root as LiveObject<any>;
}

/** Waits until the server has acknowledged all that the client did. */
export async function saved({ room }: Visitor): Promise<void> {
  await until('all changes are acknowledged', () => room.getStorageStatus() === 'synchronized');
}

/** What the application sees of Storage. */
export async function storageOf(visitor: Visitor): Promise<unknown> {
  return (await rootOf(visitor)).toJSON();
}

/** Collects what an event source tells from now on. */
export function listen<Event>(source: { subscribe(callback: (event: Event) => void): () => void }): Event[] {
  const heard: Event[] = [];
  onTestFinished(source.subscribe((event) => heard.push(event)));
  return heard;
}

function onlyOnce(action: () => void): () => void {
  let isDone = false;
  return () => {
    if (isDone) return;
    isDone = true;
    action();
  };
}
