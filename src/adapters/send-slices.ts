/** What is long on its way to the clients of this process, over HTTP or WebSocket: a piece of one of them is a step. There is one event loop for all. */
import { systemClock } from '../base/clock.ts';
import { Slices } from '../base/slices.ts';

export const sendSlices = new Slices(systemClock);
