/**
 * The slices of this process, which has one event loop: pieces of what is long on its way to a client, over HTTP or WebSocket, what goes to many, and documents
 * that are written. With some for each of these the turns would be as long as all together, and where turns are long each would take as long as the others.
 */
import { systemClock } from '../base/clock.ts';
import { Slices } from '../base/slices.ts';

export const loopSlices = new Slices(systemClock);
