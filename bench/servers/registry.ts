/** The servers that a case may name. */
import { atrium } from './atrium.ts';
import { rawUws } from './raw-uws.ts';
import type { Server } from './server.ts';

const SERVERS: readonly Server[] = [atrium, rawUws];

/** @throws an Error when there is none of that name. */
export function serverNamed(name: string): Server {
  const server = SERVERS.find((candidate) => candidate.name === name);
  if (server === undefined) throw new Error(`there is no server ${name}; there are ${SERVERS.map((known) => known.name).join(', ')}`);
  return server;
}
