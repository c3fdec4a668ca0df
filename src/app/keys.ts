/** Which keys open this server: those of the settings, or development keys made once, but never those in production. */
import { developmentKeys, isDevelopmentKey } from '../adapters/key-file.ts';
import { systemRandom } from '../base/clock.ts';
import type { Keyring } from '../base/keyring.ts';
import { StartRefused } from '../base/start-refused.ts';
import type { Settings } from '../config.ts';

export interface ServerKeys {
  /** Behind ours the one that is taken, too, while keys are changed. */
  readonly secretKeys: Keyring<string>;
  readonly publicKey: string;
  /** Which of the two were made here, and are in no setting: they are printed, those of one's own are not. */
  readonly made: { readonly secretKey: boolean; readonly publicKey: boolean };
}

/** @throws StartRefused when production, or a cluster, would run without keys of its own: each machine would make different ones. */
export async function keysFor(settings: Settings): Promise<ServerKeys> {
  const { SECRET_KEY, OTHER_SECRET_KEY, PUBLIC_KEY, NODE_ENV, REDIS_URL, DATA_DIR } = settings;
  const hasDevelopmentKeys =
    SECRET_KEY === undefined ||
    PUBLIC_KEY === undefined ||
    [SECRET_KEY, PUBLIC_KEY, OTHER_SECRET_KEY ?? ''].some((key) => isDevelopmentKey(key));
  if (hasDevelopmentKeys && (NODE_ENV === 'production' || REDIS_URL !== undefined)) {
    const where = REDIS_URL === undefined ? 'In production' : 'With REDIS_URL';
    throw new StartRefused(
      `${where} set SECRET_KEY (sk_…) and PUBLIC_KEY (pk_…) to keys of your own; missing and development keys are refused.`,
    );
  }
  const made = { secretKey: SECRET_KEY === undefined, publicKey: PUBLIC_KEY === undefined };
  const ring = (own: string): Keyring<string> => (OTHER_SECRET_KEY === undefined ? [own] : [own, OTHER_SECRET_KEY]);
  if (SECRET_KEY !== undefined && PUBLIC_KEY !== undefined) return { secretKeys: ring(SECRET_KEY), publicKey: PUBLIC_KEY, made };
  const kept = await developmentKeys({ dataDir: DATA_DIR, random: systemRandom });
  return { secretKeys: ring(SECRET_KEY ?? kept.secretKey), publicKey: PUBLIC_KEY ?? kept.publicKey, made };
}

/** A key of its own for one purpose, made from each. */
export function derived([own, ...others]: Keyring<string>, derive: (secretKey: string) => Uint8Array): Keyring {
  return [derive(own), ...others.map(derive)];
}
