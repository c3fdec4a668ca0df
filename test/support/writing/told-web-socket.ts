/** A `WebSocket` class to hand to an SDK, which tells how each of its sockets ended. */
import { WebSocket } from 'ws';
import type { WriteLog } from './writers.ts';

export function toldWebSocket(log: WriteLog): typeof WebSocket {
  return class extends WebSocket {
    constructor(address: string | URL, protocols?: string | string[]) {
      super(address, protocols);
      this.on('close', (code, reason) => log.lostSocket?.(code, String(reason)));
    }
  } as typeof WebSocket;
}
