/** Requests that leave this server for addresses which its callers have named, as a port. It does not know what they say. */

export interface OutgoingPost {
  readonly url: string;
  readonly headers: Readonly<Record<string, string>>;
  readonly body: string;
  readonly timeoutMs: number;
  /** Gives it up. */
  readonly signal: AbortSignal;
}

export type OutgoingOutcome =
  | { readonly kind: 'answered'; readonly status: number }
  /** `problem`: a few words for who named the address. */
  | { readonly kind: 'failed'; readonly problem: string };

export interface Outgoing {
  /** Why nothing may be sent there, as far as that shows without a look-up, as the rest of a sentence; null when nothing speaks against it. */
  objectionTo(url: URL): string | null;
  /** One request; redirects are not followed, and of the answer no more than its status is kept. Never rejects. */
  post(request: OutgoingPost): Promise<OutgoingOutcome>;
}
