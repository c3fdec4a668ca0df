/**
 * Collects the young generation of V8's heap before it is full. V8 does so each 16 MB; where nearly all of that is kept, as what Yjs makes of a document, it moves
 * all of it at once, for 5 to 10 ms. In small parts, and more often, nobody waits for it. Measured in bench/FLOORS.md (`limits`, long Yjs updates).
 */
import { setFlagsFromString } from 'node:v8';
import { runInNewContext } from 'node:vm';

type Collect = (options: { readonly type: 'minor' }) => void;

/** Made when it is first needed: it takes a context of its own, some 0.5 MB. */
let collect: Collect | null = null;

export function collectYoung(): void {
  collect ??= findCollect();
  collect({ type: 'minor' });
}

/** V8 gives it to contexts that are made under this flag, which Node knows as one that may be set later; where it does not, nothing is collected. */
function findCollect(): Collect {
  setFlagsFromString('--expose-gc');
  try {
    return runInNewContext('globalThis.gc') ?? NOTHING;
  } finally {
    setFlagsFromString('--no-expose-gc');
  }
}

const NOTHING: Collect = () => undefined;
