/** A reason not to start, as one sentence for the operator. It never reaches a client, hence it is no `AppError`. */
export class StartRefused extends Error {
  constructor(sentence: string, options?: { cause: unknown }) {
    super(sentence, options);
    this.name = 'StartRefused';
  }
}

/** Somebody asked that it end before it served: no failure, and nothing to be said. */
export class StartEnded extends Error {
  constructor() {
    super('asked to end before it served');
    this.name = 'StartEnded';
  }
}
