/** Development keys: made once, kept in DATA_DIR, so that a newcomer's second start has the same keys as the first. */
import { mkdir, readFile, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import type { Random } from '../base/clock.ts';
import { StartRefused } from '../base/start-refused.ts';

export interface Keys {
  readonly secretKey: string;
  readonly publicKey: string;
}

/** What development keys begin with; production refuses them. */
const DEV_SECRET = 'sk_dev_';
const DEV_PUBLIC = 'pk_dev_';
const FILE = 'development-keys.json';

export function isDevelopmentKey(key: string): boolean {
  return key.startsWith(DEV_SECRET) || key.startsWith(DEV_PUBLIC);
}

/** @throws StartRefused when the file is there but is not ours to understand. */
export async function developmentKeys({ dataDir, random }: { dataDir: string; random: Random }): Promise<Keys> {
  await mkdir(dataDir, { recursive: true });
  const path = join(dataDir, FILE);
  const make = (prefix: string): string => prefix + Buffer.from(random.bytes(24)).toString('hex');
  const fresh: Keys = { secretKey: make(DEV_SECRET), publicKey: make(DEV_PUBLIC) };
  try {
    await writeFile(path, `${JSON.stringify(fresh, null, 2)}\n`, { flag: 'wx', mode: 0o600 });
    return fresh;
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code !== 'EEXIST') throw error;
  }
  const kept = JSON.parse(await readFile(path, 'utf8')) as Partial<Keys>;
  if (kept.secretKey === undefined || kept.publicKey === undefined) {
    throw new StartRefused(`The file ${path} holds no keys; delete it to have new ones made.`);
  }
  return { secretKey: kept.secretKey, publicKey: kept.publicKey };
}
