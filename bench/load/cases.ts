/** All cases, in the order in which they run and are reported. */
import type { Case } from '../case.ts';
import { fanoutYjs } from './fanout-yjs.ts';
import { presenceSdk } from './presence-sdk.ts';
import { rest } from './rest.ts';
import { storageOps } from './storage-ops.ts';

export const CASES: readonly Case[] = [fanoutYjs, presenceSdk, storageOps, rest];
