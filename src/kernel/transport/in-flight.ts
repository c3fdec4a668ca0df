/** The requests that are being answered, so that a drain can wait for them. */
import type { HttpHandler } from './server.ts';

export interface InFlight {
  readonly handle: HttpHandler;
  /** Resolves when every request that has come so far has its answer. Never rejects. */
  settled(): Promise<void>;
}

export function countInFlight(handler: HttpHandler): InFlight {
  const open = new Set<Promise<unknown>>();
  return {
    async handle(request) {
      const answering = handler(request);
      open.add(answering);
      try {
        return await answering;
      } finally {
        open.delete(answering);
      }
    },
    async settled() {
      await Promise.allSettled(open);
    },
  };
}
