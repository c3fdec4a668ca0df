/**
 * The requests that a room decided lately, each with what its answer was, so that one which comes again is known.
 *
 * Bounded in number, age and size: a forgotten answer costs its caller the details of it, a forgotten request would be decided again. It
 * knows neither commands nor the journal.
 */
import { SmallMap } from '../base/small.ts';
import { RequestRing } from './request-ring.ts';

/** Those of a day, as for other servers with such keys; in a room with more writes than this, so many, less those that came again a day later. */
export const REQUESTS_MAX = 10_000;
export const REQUEST_AGE_MS_MAX = 24 * 60 * 60 * 1_000;
/** Answers are small, or not kept: every snapshot carries them. */
export const ANSWER_CHARACTERS_MAX = 16 * 1_024;
export const ANSWERS_CHARACTERS_MAX = 256 * 1_024;

export interface DecidedRequest {
  readonly id: string;
  readonly digest: string;
  readonly atMs: number;
  /** What cannot be told again without it; null for most. */
  readonly answer: string | null;
}

/** As in a snapshot: their slots in a ring, oldest first, and the answers of some of them. */
export interface StoredRequests {
  readonly slots: Uint8Array;
  readonly answers: readonly (readonly [id: string, answer: string])[];
}

const NOTHING: StoredRequests = { slots: new Uint8Array(0), answers: [] };

export class RecentRequests {
  /** Null until there is one: most rooms never have any. */
  #decided: RequestRing | null = null;
  /** By id, oldest first; of those above. */
  readonly #answers = new SmallMap<string, string>();
  #answersCharacters = 0;

  find(id: string, nowMs: number): Omit<DecidedRequest, 'id'> | null {
    const decided = this.#decided?.find(id) ?? null;
    if (decided === null || isOld(decided, nowMs)) return null;
    const { digest, atMs } = decided;
    return { digest, atMs, answer: this.#answers.get(id) ?? null };
  }

  add({ id, digest, atMs, answer }: DecidedRequest): void {
    this.#decided ??= new RequestRing(REQUESTS_MAX);
    if (this.#answers.size > 0) this.#forgetAnswers(id, this.#decided.nextToGo);
    this.#decided.add({ id, digest, atMs });
    if (answer !== null && answer.length <= ANSWER_CHARACTERS_MAX) this.#keepAnswer(id, answer);
  }

  /** The last ones, without those that were too old when the last came. */
  stored(): StoredRequests {
    if (this.#decided === null) return NOTHING;
    const { newestMs } = this.#decided;
    const slots = this.#decided.stored(newestMs - REQUEST_AGE_MS_MAX);
    return { slots, answers: [...this.#answers].filter(([id]) => this.find(id, newestMs) !== null) };
  }

  /** What was stored, in a room that knows none yet. */
  restore({ slots, answers }: StoredRequests): void {
    if (slots.length === 0) return;
    this.#decided = new RequestRing(REQUESTS_MAX);
    this.#decided.restore(slots);
    for (const [id, answer] of answers) this.#keepAnswer(id, answer);
  }

  #keepAnswer(id: string, answer: string): void {
    this.#answers.set(id, answer);
    this.#answersCharacters += answer.length;
    if (this.#answersCharacters <= ANSWERS_CHARACTERS_MAX) return;
    for (const oldest of this.#answers.keys()) {
      if (this.#answersCharacters <= ANSWERS_CHARACTERS_MAX / 2) break;
      this.#forgetAnswers(oldest);
    }
  }

  #forgetAnswers(...ids: (string | null)[]): void {
    for (const id of ids) {
      if (id === null) continue;
      this.#answersCharacters -= this.#answers.get(id)?.length ?? 0;
      this.#answers.delete(id);
    }
  }
}

/** The clocks of two owners may differ; by minutes in a day nobody notices. */
function isOld({ atMs }: { readonly atMs: number }, nowMs: number): boolean {
  return nowMs - atMs > REQUEST_AGE_MS_MAX;
}
