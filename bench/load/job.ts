/** A trial by the names of its parts, because functions do not cross processes. */
import { serversOf, type Trial, type Variant } from '../case.ts';
import type { Address } from '../servers/server.ts';
import { CASES } from './cases.ts';
import { GROWTH_CASES } from './growth-cases.ts';

export interface Job {
  readonly caseName: string;
  readonly variantName: string;
  readonly serverName: string;
  readonly address: Address;
  readonly seconds: number;
  readonly warmupSeconds: number;
}

export function partsOf({ caseName, variantName, serverName, ...rest }: Job): { variant: Variant; trial: Trial } {
  const theCase = [...CASES, ...GROWTH_CASES].find(({ name }) => name === caseName)!;
  const variant = theCase.variants.find(({ name }) => name === variantName)!;
  const server = serversOf(theCase, variant).find(({ name }) => name === serverName)!;
  return { variant, trial: { server, ...rest } };
}
