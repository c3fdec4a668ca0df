/** All cases, in the order in which they run and are reported. */
import type { Case } from '../case.ts';
import { ackLatency } from './ack-latency.ts';
import { fanoutYjs } from './fanout-yjs.ts';
import { joinCold, joinWarm } from './join.ts';
import { neighbours } from './neighbours.ts';
import { presenceSdk } from './presence-sdk.ts';
import { rest } from './rest.ts';
import { storageOps } from './storage-ops.ts';
import { viewersCase } from './viewers.ts';

export const CASES: readonly Case[] = [
  fanoutYjs,
  presenceSdk,
  storageOps,
  rest,
  joinWarm,
  joinCold,
  ackLatency,
  neighbours,
  viewersCase,
];
