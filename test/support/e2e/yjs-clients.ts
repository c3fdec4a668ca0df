/** Yjs clients of both kinds on one document: the SDK's provider, and y-websocket. */
import { getYjsProviderForRoom, type LiveblocksYjsProvider } from '@liveblocks/yjs';
import { onTestFinished } from 'vitest';
import type { Awareness } from 'y-protocols/awareness';
import { WebsocketProvider } from 'y-websocket';
import * as Y from 'yjs';
import { Network } from './network.ts';
import { enter, type Visit, type Visitor } from './sdk-client.ts';
import type { TestServer } from './server.ts';
import { accessTokenFor, type Person } from './tokens.ts';
import { until } from './until.ts';

export interface SdkEditor extends Visitor {
  readonly doc: Y.Doc;
  readonly provider: LiveblocksYjsProvider;
}

interface Spoken {
  /** In which it sends its updates and takes hashes; V1 when absent. */
  readonly encoding?: 'V1' | 'V2';
}

/** An SDK client with its Yjs provider, after the first sync. */
export async function sdkEditor(server: TestServer, { encoding = 'V1', ...visit }: Visit & Spoken): Promise<SdkEditor> {
  const visitor = await enter(server, visit);
  const options = { autoloadSubdocs: true, useV2Encoding_experimental: encoding === 'V2' };
  const provider = getYjsProviderForRoom(visitor.room as never, options, true);
  onTestFinished(() => provider.destroy());
  await until('the SDK provider has synced', () => provider.synced);
  return { ...visitor, doc: provider.getYDoc(), provider };
}

/** Waits until the provider shows the user "saved": its document hashes to what the server says. */
export async function synchronized({ provider }: SdkEditor): Promise<void> {
  await until('the provider says synchronized', () => provider.getStatus() === 'synchronized');
}

export interface PlainEditor {
  readonly doc: Y.Doc;
  readonly provider: WebsocketProvider;
  readonly awareness: Awareness;
  readonly network: Network;
}

/** A y-websocket client, without waiting for it to sync. */
export function plainEditorWith(
  server: TestServer,
  { roomId, params, doc = new Y.Doc() }: { roomId: string; params: Record<string, string>; doc?: Y.Doc },
): PlainEditor {
  const network = new Network();
  const provider = new WebsocketProvider(`${server.socketUrl}/yjs`, encodeURIComponent(roomId), doc, {
    params,
    WebSocketPolyfill: network.WebSocket as never,
    disableBc: true, // in one process the providers would hear each other without the server
  });
  onTestFinished(() => provider.destroy());
  return { doc, provider, awareness: provider.awareness, network };
}

/** A y-websocket client, after the first sync. */
export async function plainEditor(server: TestServer, { roomId, ...person }: { roomId: string } & Person): Promise<PlainEditor> {
  const editor = plainEditorWith(server, { roomId, params: { token: await accessTokenFor(server, person) } });
  await until('the y-websocket provider has synced', () => editor.provider.synced);
  return editor;
}

export function textOf({ doc }: { doc: Y.Doc }): string {
  return doc.getText('text').toString();
}
