/** Which keys open this server: those of the settings, or development keys made once, but never those in production. */
import { developmentKeys, isDevelopmentKey } from '../adapters/key-file.ts';
import { systemRandom } from '../base/clock.ts';
import { StartRefused } from '../base/start-refused.ts';
import type { Settings } from '../config.ts';

export interface ServerKeys {
  readonly secretKey: string;
  readonly publicKey: string;
  /** Which of the two were made here, and are in no setting: they are printed, those of one's own are not. */
  readonly made: { readonly secretKey: boolean; readonly publicKey: boolean };
}

/** @throws StartRefused when production, or a cluster, would run without keys of its own: each machine would make different ones. */
export async function keysFor({ SECRET_KEY, PUBLIC_KEY, NODE_ENV, REDIS_URL, DATA_DIR }: Settings): Promise<ServerKeys> {
  const hasDevelopmentKeys =
    SECRET_KEY === undefined || PUBLIC_KEY === undefined || isDevelopmentKey(SECRET_KEY) || isDevelopmentKey(PUBLIC_KEY);
  if (hasDevelopmentKeys && (NODE_ENV === 'production' || REDIS_URL !== undefined)) {
    const where = REDIS_URL === undefined ? 'In production' : 'With REDIS_URL';
    throw new StartRefused(
      `${where} set SECRET_KEY (sk_…) and PUBLIC_KEY (pk_…) to keys of your own; missing and development keys are refused.`,
    );
  }
  const made = { secretKey: SECRET_KEY === undefined, publicKey: PUBLIC_KEY === undefined };
  if (SECRET_KEY !== undefined && PUBLIC_KEY !== undefined) return { secretKey: SECRET_KEY, publicKey: PUBLIC_KEY, made };
  const kept = await developmentKeys({ dataDir: DATA_DIR, random: systemRandom });
  return { secretKey: SECRET_KEY ?? kept.secretKey, publicKey: PUBLIC_KEY ?? kept.publicKey, made };
}
