/** The requests that are being answered, so that a drain can wait for them. */
import type { HttpHandler } from './server.ts';

export interface InFlight {
  readonly handle: HttpHandler;
  /** Resolves when every request that has come so far has its answer. Never rejects. */
  settled(): Promise<void>;
}

/** Those that came between two calls of `settled`, counted: a set of promises would cost each request more than its route's table. */
class Generation {
  readonly #earlier: Promise<void>;
  #open = 0;
  #wake: (() => void) | null = null;

  /** @param earlier those before it */
  constructor(earlier: Promise<void>) {
    this.#earlier = earlier;
  }

  begin(): void {
    this.#open += 1;
  }

  end(): void {
    this.#open -= 1;
    if (this.#open === 0) this.#wake?.();
  }

  /** When these and the earlier ones have ended. None may begin any more. */
  async settled(): Promise<void> {
    await this.#earlier;
    if (this.#open === 0) return;
    await new Promise<void>((resolve) => {
      this.#wake = resolve;
    });
  }
}

export function countInFlight(handler: HttpHandler): InFlight {
  let current = new Generation(Promise.resolve());
  return {
    async handle(request) {
      const mine = current;
      mine.begin();
      try {
        return await handler(request);
      } finally {
        mine.end();
      }
    },
    settled() {
      const settled = current.settled();
      current = new Generation(settled);
      return settled;
    },
  };
}
