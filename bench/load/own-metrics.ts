/** What an Atrium says of itself on its admin port. */
import type { Address } from '../servers/server.ts';
import { HOST } from '../servers/server.ts';

/** @returns null for a server that has no such port. @throws an Error when it does not know the name. */
export async function metricOf({ adminPort }: Address, name: string): Promise<number | null> {
  if (adminPort === undefined) return null;
  const text = await (await fetch(`http://${HOST}:${adminPort}/metrics`)).text();
  const line = text.split('\n').find((candidate) => candidate.startsWith(`${name} `) || candidate.startsWith(`${name}{`));
  if (line === undefined) throw new Error(`${name} is not among the metrics`);
  return Number(line.slice(line.lastIndexOf(' ') + 1));
}
