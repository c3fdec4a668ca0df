/** Rooms with much in their Storage, and what is asked of rooms over REST. */
import type { Trial } from '../case.ts';
import { restHeaders, restUrl } from '../servers/server.ts';
import { documentOf } from './documents.ts';

/** Makes so many rooms, each with so many nodes. Returns their ids. */
export async function largeRooms(
  trial: Trial,
  { called, rooms, nodes }: { readonly called: string; readonly rooms: number; readonly nodes: number },
): Promise<string[]> {
  const ids = Array.from({ length: rooms }, (_, room) => `${called}-${room}`);
  for (const id of ids) {
    await trial.server.openRoom(trial.address, id);
    await ask(trial, 'POST', `/v2/rooms/${id}/storage`, JSON.stringify(documentOf(nodes)));
  }
  return ids;
}

/** Returns the status; the body has arrived then. */
export async function ask({ address }: Trial, method: string, path: string, body?: string): Promise<number> {
  return statusOf(restUrl(address, path), { method, headers: restHeaders(), ...(body !== undefined && { body }) });
}

/** The same with bytes. */
export async function askBytes({ address }: Trial, method: string, path: string, body: Uint8Array): Promise<number> {
  return statusOf(restUrl(address, path), {
    method,
    headers: { ...restHeaders(), 'content-type': 'application/octet-stream' },
    body: new Uint8Array(body),
  });
}

async function statusOf(url: string, request: RequestInit): Promise<number> {
  const response = await fetch(url, request);
  await response.arrayBuffer();
  return response.status;
}
