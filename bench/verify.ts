/**
 * The load checks itself: at tiny scale, beside real clients (y-websocket with Yjs, and the SDK), each side must receive exactly what the
 * other sent. A real client reports what its own library has understood, never what came over the wire.
 *
 * In every room the clients 0 to 2 are of the load, 3 is a real one that speaks too, 4 is a real one that listens.
 */
import { setTimeout as sleep } from 'node:timers/promises';
import { createClient, type LiveObject, type Room } from '@liveblocks/client';
import { WebSocket } from 'ws';
import { WebsocketProvider } from 'y-websocket';
import * as Y from 'yjs';
import { Crowd } from './load/crowd.ts';
import { editors, typedFrames } from './load/fanout-yjs.ts';
import { Ledger, markOf, type Reach } from './load/ledger.ts';
import { cursorFrames, people } from './load/presence-sdk.ts';
import { awarenessFrame } from './load/presence-yjs.ts';
import { actorIn, opFrame, writers } from './load/storage-ops.ts';
import { settled } from './load/window.ts';
import { atrium } from './servers/atrium.ts';
import { type Address, HOST, KEYS } from './servers/server.ts';

const LOAD_CLIENTS = 3;
const SPEAKER = 3;
const LISTENER = 4;
const SENDERS = 4;
const CLIENTS = 5;
const MESSAGES = 20;
/** Longer than the SDK gathers what it has to say (its throttle), so that every change leaves by itself. */
const TURN_MS = 40;
const THROTTLE_MS = 16;
const WAIT_MS_MAX = 10_000;

/** @throws an Error that says what did not agree. */
export async function verify(): Promise<void> {
  const { port, pid, stop } = await atrium.start();
  const address: Address = { port, pid };
  try {
    await verifyYjs(address);
    await verifyAwareness(address);
    await verifyPresence(address);
    await verifyStorage(address);
  } finally {
    await stop();
  }
}

async function verifyYjs(address: Address): Promise<void> {
  const roomId = 'verify-yjs';
  await atrium.openRoom(address, roomId);
  const ledger = openLedger('others');
  const real = [SPEAKER, LISTENER].map((client) => realEditor(address, { roomId, client, ledger }));
  const crowd = await enter(address, editors({ roomId, clients: LOAD_CLIENTS, ledger }));
  await until('the y-websocket clients have synced', () => real.every(({ provider }) => provider.synced));
  const frames = Array.from({ length: LOAD_CLIENTS }, (_, typist) => typedFrames(typist, MESSAGES));
  const text = real[0]!.doc.getText('text');
  await inTurns((client) => {
    if (client === SPEAKER) text.insert(text.length, markOf(SPEAKER, ledger.sent(SPEAKER)));
    else crowd.send(client, frames[client]![ledger.sent(client)]!);
  });
  await agree('yjs', ledger);
  const [one, other] = real.map(({ doc }) => doc.getText('text').toString());
  const typed = one!.match(/~~\d+/g)?.sort().join();
  check('yjs', 'the real documents are equal', one === other);
  check('yjs', 'and hold every mark exactly once', typed === allMarks().sort().join());
  for (const { provider } of real) provider.destroy();
  crowd.leave();
}

function realEditor(address: Address, { roomId, client, ledger }: { roomId: string; client: number; ledger: Ledger }) {
  const doc = new Y.Doc();
  const provider = new WebsocketProvider(`ws://${HOST}:${address.port}/yjs`, roomId, doc, {
    params: { pubkey: KEYS.publicKey },
    WebSocketPolyfill: WebSocket as never,
    disableBc: true, // else the two would hear each other without the server
  });
  doc.on('update', (update, origin) => {
    if (origin === provider) ledger.received(client, Buffer.from(update));
  });
  return { doc, provider };
}

async function verifyAwareness(address: Address): Promise<void> {
  const roomId = 'verify-awareness';
  await atrium.openRoom(address, roomId);
  const ledger = openLedger('others, echoed');
  const real = [SPEAKER, LISTENER].map((client) => {
    const { provider } = realEditor(address, { roomId, client, ledger });
    const { awareness } = provider;
    awareness.on('update', ({ added, updated }: { added: number[]; updated: number[] }, origin: unknown) => {
      const states = [...added, ...updated].map((id) => awareness.getStates().get(id));
      if (origin === provider) ledger.received(client, Buffer.from(JSON.stringify(states)));
    });
    return provider;
  });
  const crowd = await enter(address, editors({ roomId, clients: LOAD_CLIENTS, ledger }));
  await until('the y-websocket clients have synced', () => real.every(({ synced }) => synced));
  await inTurns((client) => {
    const number = ledger.sent(client);
    if (client === SPEAKER) real[0]!.awareness.setLocalState({ mark: markOf(SPEAKER, number) });
    else crowd.send(client, awarenessFrame(client, number));
  });
  await agree('awareness', ledger);
  const seen = [...real[1]!.awareness.getStates().values()].flatMap(({ mark }) => (mark === undefined ? [] : [String(mark)]));
  const last = Array.from({ length: SENDERS }, (_, sender) => markOf(sender, MESSAGES - 1));
  check('awareness', 'the real client shows the last state of all', seen.sort().join() === last.join());
  for (const provider of real) provider.destroy();
  crowd.leave();
}

async function verifyPresence(address: Address): Promise<void> {
  const roomId = 'verify-presence';
  await atrium.openRoom(address, roomId);
  const ledger = openLedger('others');
  const real = [SPEAKER, LISTENER].map((client) => {
    const visit = realVisitor(address, roomId);
    visit.room.subscribe('others', (_others: unknown, event: any) => {
      if (event.type === 'update') ledger.received(client, Buffer.from(JSON.stringify(event.updates)));
    });
    return visit;
  });
  await until('the SDK clients see each other', () => real.every(({ room }) => room.getOthers().length === 1));
  const crowd = await enter(address, people({ roomId, clients: LOAD_CLIENTS, ledger }));
  await until('the SDK clients see the load', () => real.every(({ room }) => room.getOthers().length === CLIENTS - 1));
  await sleep(TURN_MS); // an SDK client answers newcomers with its whole presence; said later, that would repeat its first mark
  const frames = Array.from({ length: LOAD_CLIENTS }, (_, person) => cursorFrames(person, MESSAGES));
  await inTurns((client) => {
    if (client === SPEAKER) real[0]!.room.updatePresence({ mark: markOf(SPEAKER, ledger.sent(SPEAKER)) });
    else crowd.send(client, frames[client]![ledger.sent(client)]!);
  });
  await agree('presence', ledger);
  const seen = real[1]!.room.getOthers().map(({ presence }: any) => presence.mark);
  const last = Array.from({ length: SENDERS }, (_, sender) => markOf(sender, MESSAGES - 1));
  check('presence', 'the real client shows the last presence of all', seen.sort().join() === last.join());
  for (const { leave } of real) leave();
  crowd.leave();
}

async function verifyStorage(address: Address): Promise<void> {
  const roomId = 'verify-storage';
  await atrium.openRoom(address, roomId);
  const ledger = openLedger('all');
  const real = await Promise.all(
    [SPEAKER, LISTENER].map(async (client) => {
      const visit = realVisitor(address, roomId);
      const { root } = (await visit.room.getStorage()) as { root: LiveObject<any> };
      return { ...visit, client, root };
    }),
  );
  for (const { room, client, root } of real) {
    const own = `key ${client}`;
    const subscribe = room.subscribe as (node: unknown, hear: (updates: any[]) => void, options: object) => void;
    subscribe(
      root,
      (updates) => {
        const keys = updates.flatMap((update) => Object.keys(update.updates)).filter((key) => key !== own);
        ledger.received(client, Buffer.from(keys.map((key) => root.get(key)).join()));
      },
      { isDeep: true },
    );
  }
  const crowd = await enter(address, writers({ roomId, clients: LOAD_CLIENTS, ledger }));
  const actors = crowd.welcomes.map(actorIn);
  const { room, root } = real[0]!;
  await inTurns(async (client) => {
    const number = ledger.sent(client);
    if (client !== SPEAKER) return crowd.send(client, opFrame({ actor: actors[client]!, client, number }));
    root.set(`key ${SPEAKER}`, markOf(SPEAKER, number));
    await until('the SDK client has its acknowledgement', () => room.getStorageStatus() === 'synchronized');
    ledger.received(SPEAKER, Buffer.from(markOf(SPEAKER, number)));
  });
  await agree('storage', ledger);
  const last = Object.fromEntries(
    Array.from({ length: SENDERS }, (_, sender) => [`key ${sender}`, markOf(sender, MESSAGES - 1)]),
  );
  const states = real.map((visitor) => JSON.stringify(Object.entries(visitor.root.toJSON()).sort()));
  check(
    'storage',
    'the real clients hold the last op of all',
    states.every((state) => state === JSON.stringify(Object.entries(last))),
  );
  for (const { leave } of real) leave();
  crowd.leave();
}

function realVisitor(address: Address, roomId: string): { room: Room<any, any, any, any>; leave: () => void } {
  const client = createClient({
    baseUrl: `http://${HOST}:${address.port}`,
    publicApiKey: KEYS.publicKey,
    throttle: THROTTLE_MS,
    polyfills: { WebSocket: WebSocket as never },
  });
  return client.enterRoom(roomId, { initialPresence: {}, initialStorage: {} } as never) as never;
}

function openLedger(reach: Reach): Ledger {
  const ledger = new Ledger({ senders: SENDERS, clients: CLIENTS, reach });
  ledger.open();
  return ledger;
}

function enter(address: Address, entry: Parameters<typeof Crowd.enter>[1]): Promise<Crowd> {
  return Crowd.enter({ server: atrium, address }, entry);
}

/** Everybody speaks `MESSAGES` times, one after the other. */
async function inTurns(speak: (client: number) => unknown): Promise<void> {
  for (let number = 0; number < MESSAGES; number += 1) {
    for (let client = 0; client < SENDERS; client += 1) await speak(client);
    await sleep(TURN_MS);
  }
}

function allMarks(): string[] {
  return Array.from({ length: SENDERS * MESSAGES }, (_, index) => markOf(index % SENDERS, Math.floor(index / SENDERS)));
}

async function agree(what: string, ledger: Ledger): Promise<void> {
  await settled(ledger);
  check(what, `all of ${ledger.messages} messages were sent`, ledger.messages === SENDERS * MESSAGES);
  check(
    what,
    `${ledger.delivered} of ${ledger.expected} deliveries came, to real and light clients alike`,
    ledger.delivered === ledger.expected,
  );
  check(what, ['nothing came twice or out of order', ...ledger.problems].join(': '), ledger.problems.length === 0);
}

function check(what: string, claim: string, holds: boolean): void {
  if (!holds) throw new Error(`verify ${what}: this is not so: ${claim}`);
  console.log(`verify ${what}: ${claim}`);
}

async function until(what: string, condition: () => boolean): Promise<void> {
  const deadlineMs = performance.now() + WAIT_MS_MAX;
  while (!condition()) {
    if (performance.now() > deadlineMs) throw new Error(`verify: waited ${WAIT_MS_MAX} ms in vain until ${what}`);
    await sleep(5);
  }
}
