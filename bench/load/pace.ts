/**
 * An open loop: messages leave at their times whether or not the server keeps up, spread evenly over the interval.
 *
 * Even spread is the hardest case for a server that gathers what comes together.
 */

export interface Pace {
  readonly senders: number;
  /** From each sender. */
  readonly perSecond: number;
  readonly send: (sender: number) => void;
}

/** Starts now; the returned function ends it. */
export function startPace({ senders, perSecond, send }: Pace): () => void {
  const everyMs = 1_000 / (senders * perSecond);
  const startedAtMs = performance.now();
  let turn = 0;
  let timer: NodeJS.Timeout;
  const sendDue = (): void => {
    const elapsedMs = performance.now() - startedAtMs;
    for (; turn * everyMs <= elapsedMs; turn += 1) send(turn % senders);
    timer = setTimeout(sendDue, turn * everyMs - (performance.now() - startedAtMs));
  };
  sendDue();
  return () => clearTimeout(timer);
}
