/** All cases, in the order in which they run and are reported. */
import type { Case } from '../case.ts';
import { ackLatency } from './ack-latency.ts';
import { connectStorm } from './connect-storm.ts';
import { dueAtOnce } from './due-at-once.ts';
import { fanoutYjs } from './fanout-yjs.ts';
import { fullWorker } from './full-worker.ts';
import { idle } from './idle.ts';
import { joinCold, joinWarm } from './join.ts';
import { limits } from './limits.ts';
import { neighbours } from './neighbours.ts';
import { presenceSdk } from './presence-sdk.ts';
import { presenceYjs } from './presence-yjs.ts';
import { rest } from './rest.ts';
import { rooms1000 } from './rooms-1000.ts';
import { saturation } from './saturation.ts';
import { storageOps } from './storage-ops.ts';
import { viewersCase } from './viewers.ts';

export const CASES: readonly Case[] = [
  fanoutYjs,
  saturation,
  presenceYjs,
  presenceSdk,
  rooms1000,
  idle,
  connectStorm,
  joinWarm,
  joinCold,
  storageOps,
  ackLatency,
  rest,
  neighbours,
  dueAtOnce,
  limits,
  fullWorker,
  viewersCase,
];
