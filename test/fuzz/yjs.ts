/**
 * One run of the Yjs convergence fuzz: SDK providers of both encodings and y-websocket clients, and REST in between, edit one document over links that are cut;
 * then all documents, what REST reads, what a newcomer gets and what is written down must be equal. Here nothing is forgiven.
 */
import { setTimeout as sleep } from 'node:timers/promises';
import { createClient } from '@liveblocks/client';
import { getYjsProviderForRoom } from '@liveblocks/yjs';
import { WebsocketProvider } from 'y-websocket';
import * as Y from 'yjs';
import { encodeYdoc } from '../../src/room/ydoc/ydoc.ts';
import { ask, roomPath } from '../support/e2e/rest.ts';
import { accessTokenFor } from '../support/e2e/tokens.ts';
import { until } from '../support/e2e/until.ts';
import { Dice } from './dice.ts';
import { Link } from './link.ts';
import type { OwnServer } from './own-server.ts';
import { anIndex, edit } from './yjs-edits.ts';

export interface YjsOutcome {
  readonly seed: number;
  /** What is not equal, or not at rest; empty when all is well. */
  readonly faults: readonly string[];
  readonly counts: { readonly steps: number; readonly cuts: number; readonly puts: number };
}

const STEPS_MIN = 60;
const STEPS_MAX = 160;
const PAUSE_MS_MAX = 12;
const CUT_MS_MAX = 500;
const REST_TIMEOUT_MS = 10_000;

export async function convergeYjs(server: OwnServer, { seed }: { seed: number }): Promise<YjsOutcome> {
  const dice = new Dice(seed);
  const roomId = `fuzz:yjs:${seed}:${performance.now().toString(36)}`;
  await server.backend.createRoom(roomId, { defaultAccesses: [] });
  const counts = { steps: STEPS_MIN + dice.below(STEPS_MAX - STEPS_MIN), cuts: 0, puts: 0 };
  const enter = (index: number, kind: Kind): Promise<Participant> =>
    join(server, { roomId, kind, dice: new Dice(seed * 64 + index), delayMsMax: dice.pick([1, 20, 100, 300]) });
  const all = await Promise.all((['sdk', 'plain', 'sdk-v2', 'plain'] as const).map((kind, index) => enter(index, kind)));
  const background: Promise<void>[] = [];
  try {
    for (let step = 0; step < counts.steps; step += 1) {
      const participant = dice.pick(all);
      if (dice.chance(0.04)) {
        counts.cuts += 1;
        background.push(cutFor(participant.link, dice.below(CUT_MS_MAX), dice.chance(0.5) ? 'both' : 'answers'));
      } else if (dice.chance(0.03)) {
        counts.puts += 1;
        background.push(put(server, roomId, dice));
      } else edit(participant.doc, participant.undo, dice);
      if (dice.chance(0.5)) await sleep(dice.below(PAUSE_MS_MAX));
    }
    await Promise.all(background);
    for (const { link } of all) link.hasten();
    return { seed, counts, faults: await faultsOf(server, roomId, all) };
  } finally {
    for (const { leave } of all) leave();
  }
}

type Kind = 'sdk' | 'sdk-v2' | 'plain';

interface Participant {
  readonly name: string;
  readonly doc: Y.Doc;
  readonly undo: Y.UndoManager;
  readonly link: Link;
  /** In sync as far as its provider can tell; the SDK's compares hashes with the server. */
  isAtRest(): boolean;
  leave(): void;
}

interface Join {
  readonly roomId: string;
  readonly kind: Kind;
  readonly dice: Dice;
  readonly delayMsMax: number;
}

async function join(server: OwnServer, { roomId, kind, dice, delayMsMax }: Join): Promise<Participant> {
  const name = `${kind}${dice.below(1_000)}`;
  const link = new Link({ dice, delayMsMax });
  const token = await accessTokenFor(server, { userId: name });
  const way = { roomId, link, token };
  const joined = kind === 'plain' ? joinPlain(server, way) : joinSdk(server, way, kind);
  const { doc } = joined;
  await until(`${name} has synced`, joined.isAtRest, { timeoutMs: REST_TIMEOUT_MS });
  return {
    name,
    link,
    undo: new Y.UndoManager([doc.getText('text'), doc.getArray('array'), doc.getMap('map')], { captureTimeout: 0 }),
    ...joined,
  };
}

type Joined = Pick<Participant, 'doc' | 'isAtRest' | 'leave'>;

interface Way {
  readonly roomId: string;
  readonly link: Link;
  readonly token: string;
}

function joinSdk(server: OwnServer, { roomId, link, token }: Way, kind: Exclude<Kind, 'plain'>): Joined {
  const client = createClient({
    baseUrl: server.url,
    throttle: 16,
    polyfills: { WebSocket: link.WebSocket as any, fetch },
    authEndpoint: async () => ({ token }),
  });
  const { room, leave } = client.enterRoom(roomId, { initialPresence: {} } as any);
  const provider = getYjsProviderForRoom(room as never, { useV2Encoding_experimental: kind === 'sdk-v2' }, true);
  return {
    doc: provider.getYDoc(),
    isAtRest: () => room.getStatus() === 'connected' && provider.synced && provider.getStatus() === 'synchronized' && link.isIdle,
    leave: () => {
      provider.destroy();
      leave();
    },
  };
}

function joinPlain(server: OwnServer, { roomId, link, token }: Way): Joined {
  const doc = new Y.Doc();
  const provider = new WebsocketProvider(`${server.socketUrl}/yjs`, encodeURIComponent(roomId), doc, {
    params: { token },
    WebSocketPolyfill: link.WebSocket as never,
    disableBc: true, // in one process the providers would hear each other without the server
    maxBackoffTime: 300,
  });
  return { doc, isAtRest: () => provider.wsconnected && provider.synced && link.isIdle, leave: () => provider.destroy() };
}

async function cutFor(link: Link, downMs: number, lost: 'both' | 'answers'): Promise<void> {
  link.cut(lost);
  await sleep(downMs);
  link.mend();
}

/** A back end that reads the document, edits its copy and sends back what is new. */
async function put(server: OwnServer, roomId: string, dice: Dice): Promise<void> {
  const doc = await download(server, roomId);
  const before = Y.encodeStateVector(doc);
  doc.getText('text').insert(anIndex(doc.getText('text'), dice), 'R');
  doc.getMap('map').set('rest', dice.below(100));
  const { status, text } = await ask(server, roomPath(roomId, '/ydoc'), {
    method: 'PUT',
    body: Y.encodeStateAsUpdate(doc, before),
    contentType: 'application/octet-stream',
  });
  if (status !== 200) throw new Error(`PUT ydoc was answered with ${status} ${text}`);
}

async function download(server: OwnServer, roomId: string): Promise<Y.Doc> {
  const doc = new Y.Doc();
  const bytes = await server.backend.getYjsDocumentAsBinaryUpdate(roomId);
  Y.applyUpdate(doc, new Uint8Array(bytes));
  return doc;
}

/** What is in a document, for people and for comparison with what REST reads. */
function contentOf(doc: Y.Doc): Record<'text' | 'map' | 'array' | 'xml', string> {
  return {
    text: doc.getText('text').toString(),
    map: sorted(doc.getMap('map').toJSON()),
    array: sorted(doc.getArray('array').toJSON()),
    xml: doc.getXmlFragment('xml').toString(),
  };
}

function sorted(value: unknown): string {
  return JSON.stringify(value, (_, inner: unknown) =>
    typeof inner === 'object' && inner !== null && !Array.isArray(inner)
      ? Object.fromEntries(Object.entries(inner).sort())
      : inner,
  );
}

/** Everything a reader could tell apart: structs, deletions, content. */
function isSame(one: Y.Doc, other: Y.Doc): boolean {
  return Y.equalSnapshots(Y.snapshot(one), Y.snapshot(other)) && sorted(contentOf(one)) === sorted(contentOf(other));
}

async function faultsOf(server: OwnServer, roomId: string, all: readonly Participant[]): Promise<string[]> {
  const [first] = all as [Participant, ...Participant[]];
  const isEqual = await until(
    'all are at rest and equal',
    () => all.every((one) => one.isAtRest() && isSame(one.doc, first.doc)),
    {
      timeoutMs: REST_TIMEOUT_MS,
    },
  ).catch(() => false);
  const faults: string[] = [];
  if (!isEqual)
    for (const { name, doc, isAtRest } of all) faults.push(`${name} at rest: ${isAtRest()}, has ${sorted(contentOf(doc))}`);
  const stored = await download(server, roomId);
  const recovered = new Y.Doc();
  const durable = (await server.recover(roomId)).ydocs.get('');
  if (durable !== undefined) Y.applyUpdate(recovered, encodeYdoc(durable));
  const others: [string, Y.Doc][] = [
    ['REST', stored],
    ['the journal', recovered],
  ];
  for (const kind of ['sdk', 'plain'] as const) {
    const newcomer = await join(server, { roomId, kind, dice: new Dice(1), delayMsMax: 0 });
    others.push([`a newcomer (${kind})`, newcomer.doc]);
    newcomer.leave();
  }
  for (const [name, doc] of others)
    if (!isSame(doc, first.doc)) faults.push(`${name} has ${sorted(contentOf(doc))}, not ${sorted(contentOf(first.doc))}`);
  return [...faults, ...(await jsonFaults(server, roomId, first.doc))];
}

/** GET ydoc, root by root. */
async function jsonFaults(server: OwnServer, roomId: string, doc: Y.Doc): Promise<string[]> {
  const types = { text: 'ytext', map: 'ymap', array: 'yarray', xml: 'yxmlfragment' } as const;
  const faults: string[] = [];
  for (const [key, content] of Object.entries(contentOf(doc))) {
    const { json } = await ask(server, roomPath(roomId, `/ydoc?key=${key}&type=${types[key as keyof typeof types]}`));
    const read = typeof json === 'string' ? json : sorted(json);
    if (read !== content) faults.push(`GET ydoc reads ${key} as ${read}, not ${content}`);
  }
  return faults;
}
