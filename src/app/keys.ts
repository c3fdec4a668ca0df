/** Which keys open this server: those of the settings, or development keys made once, but never those in production. */
import { developmentKeys, isDevelopmentKey } from '../adapters/key-file.ts';
import { systemRandom } from '../base/clock.ts';
import { StartRefused } from '../base/start-refused.ts';
import type { Settings } from '../config.ts';

export interface ServerKeys {
  readonly secretKey: string;
  readonly publicKey: string;
  readonly hasDevelopmentKeys: boolean;
}

/** @throws StartRefused when production would run without keys of its own. */
export async function keysFor({ SECRET_KEY, PUBLIC_KEY, NODE_ENV, DATA_DIR }: Settings): Promise<ServerKeys> {
  const hasDevelopmentKeys =
    SECRET_KEY === undefined || PUBLIC_KEY === undefined || isDevelopmentKey(SECRET_KEY) || isDevelopmentKey(PUBLIC_KEY);
  if (hasDevelopmentKeys && NODE_ENV === 'production') {
    throw new StartRefused(
      'In production set SECRET_KEY (sk_…) and PUBLIC_KEY (pk_…) to keys of your own; development keys are refused.',
    );
  }
  if (SECRET_KEY !== undefined && PUBLIC_KEY !== undefined)
    return { secretKey: SECRET_KEY, publicKey: PUBLIC_KEY, hasDevelopmentKeys };
  const kept = await developmentKeys({ dataDir: DATA_DIR, random: systemRandom });
  return { secretKey: SECRET_KEY ?? kept.secretKey, publicKey: PUBLIC_KEY ?? kept.publicKey, hasDevelopmentKeys };
}
