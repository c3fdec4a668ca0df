/** Spans: what took how long within what. Who opens one knows names and facts; whether anybody collects them is an adapter's business. */

export type SpanFacts = Readonly<Record<string, string | number | boolean>>;

export interface Span {
  /** What is known only at the end. */
  note(facts: SpanFacts): void;
}

export interface Tracer {
  /**
   * Runs `work` inside a span, which is a child of the one that this was called in, and ends with its promise. An error it throws is noted and
   * thrown on. `parent` is a W3C `traceparent` of somebody else's span, used where there is none around.
   */
  span<Result>(
    name: string,
    options: { readonly facts?: SpanFacts; readonly parent?: string | undefined },
    work: (span: Span) => Promise<Result>,
  ): Promise<Result>;
}

const nothing: Span = { note: () => undefined };

/** Where nobody collects them. */
export const noTracer: Tracer = { span: (_name, _options, work) => work(nothing) };
