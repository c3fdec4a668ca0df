/**
 * Long answers on their way out: each stays in memory for as long as its reader takes. Together they hold so much of a worker and no more, where
 * several read the same bytes counted once; beyond that a read is refused, which may be asked again.
 */
import { AppError } from '../../base/errors.ts';
import { bytesIn } from '../../base/pieces.ts';
import type { HttpResponse } from './server.ts';

const BYTES_MAX = 256 * 1024 * 1024;
/** What is shorter is not counted. */
const LONG_BYTES = 256 * 1024;

interface Held {
  readonly memory: object;
  readonly bytes: number;
}

export class LongAnswers {
  /** How many read it, by whose memory it is. */
  readonly #readers = new Map<object, number>();
  #bytes = 0;

  /** The answer as it is to leave: it counts until it is over. One that is alone may be of any length. @throws AppError WORKER_OVERLOADED */
  leaving(response: HttpResponse): HttpResponse {
    const held = heldBy(response.body);
    if (held.bytes <= LONG_BYTES) return response;
    this.#hold(held);
    return { ...response, over: () => this.#letGo(held) };
  }

  #hold({ memory, bytes }: Held): void {
    const readers = this.#readers.get(memory) ?? 0;
    if (readers === 0) {
      if (this.#bytes > 0 && this.#bytes + bytes > BYTES_MAX) throw new AppError('WORKER_OVERLOADED');
      this.#bytes += bytes;
    }
    this.#readers.set(memory, readers + 1);
  }

  #letGo({ memory, bytes }: Held): void {
    const readers = this.#readers.get(memory)! - 1;
    if (readers > 0) {
      this.#readers.set(memory, readers);
      return;
    }
    this.#readers.delete(memory);
    this.#bytes -= bytes;
  }
}

/** Of bytes in one array the memory that they are a part of counts, which others may read, too. What comes as it is read holds next to nothing. */
function heldBy(body: HttpResponse['body']): Held {
  if (typeof body === 'string') return { memory: {}, bytes: body.length };
  if (body instanceof Uint8Array)
    return body.length <= LONG_BYTES ? NOTHING : { memory: body.buffer, bytes: body.buffer.byteLength };
  return Array.isArray(body) ? { memory: body, bytes: bytesIn(body) } : NOTHING;
}

const NOTHING: Held = { memory: {}, bytes: 0 };
