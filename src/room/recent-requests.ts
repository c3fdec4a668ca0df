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

/** As in a snapshot. */
export type StoredRequest = readonly [id: string, digest: string, atMs: number, answer: string | null];

export class RecentRequests {
  /** Null until there is one: most rooms never have any. */
  #decided: RequestRing | null = null;
  /** By id, oldest first; of those above. */
  readonly #answers = new SmallMap<string, string>();
  #answersCharacters = 0;

  /** @param stored oldest first */
  constructor(stored: Iterable<StoredRequest> = []) {
    for (const [id, digest, atMs, answer] of stored) this.add({ id, digest, atMs, answer });
  }

  find(id: string, nowMs: number): Pick<DecidedRequest, 'digest' | 'answer'> | null {
    const decided = this.#decided?.find(id) ?? null;
    if (decided === null || isOld(decided, nowMs)) return null;
    return { digest: decided.digest, answer: this.#answers.get(id) ?? null };
  }

  add({ id, digest, atMs, answer }: DecidedRequest): void {
    this.#decided ??= new RequestRing(REQUESTS_MAX);
    if (this.#answers.size > 0) this.#forgetAnswers(id, this.#decided.nextToGo);
    this.#decided.add({ id, digest, atMs });
    if (answer !== null && answer.length <= ANSWER_CHARACTERS_MAX) this.#keepAnswer(id, answer);
  }

  /** The last ones, without those that were too old when the last came. */
  stored(): StoredRequest[] {
    const last = this.#decided?.all() ?? [];
    const nowMs = last.at(-1)?.atMs ?? 0;
    const known = last.filter((decided) => !isOld(decided, nowMs));
    return known.map(({ id, digest, atMs }) => [id, digest, atMs, this.#answers.get(id) ?? null]);
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
