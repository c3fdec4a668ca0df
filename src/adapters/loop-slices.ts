/**
 * The slices of this process, which has one event loop: pieces of what is long on its way to a client, over HTTP or WebSocket, and what goes to many. With some
 * for each, turns would be as long as both together, and where turns are long each would take as long as the other.
 */
import { systemClock } from '../base/clock.ts';
import { Slices } from '../base/slices.ts';

export const loopSlices = new Slices(systemClock);
