/** Development keys: made once, kept in DATA_DIR, so that a newcomer's second start has the same keys as the first. */
import { readFile, rm } from 'node:fs/promises';
import { dirname, join } from 'node:path';
import type { Random } from '../base/clock.ts';
import { StartRefused } from '../base/start-refused.ts';
import { makeFolder, nullWhenMissing, publish, writeAside } from './durable-files.ts';

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

/**
 * All who start at once get the same.
 * @throws StartRefused when the file is there but is not ours to understand, or cannot be made.
 */
export async function developmentKeys({ dataDir, random }: { dataDir: string; random: Random }): Promise<Keys> {
  const path = join(dataDir, FILE);
  const text = await textOf(path, random).catch((error: unknown) => {
    const said = (error as Error).message;
    throw new StartRefused(
      `DATA_DIR cannot hold the development keys (${said}): name a folder that this user may write to, on a file system that has hard links.`,
      {
        cause: error,
      },
    );
  });
  return keysIn(text, path);
}

/** What is there, or is made now. */
async function textOf(path: string, random: Random): Promise<string> {
  const kept = await readFile(path, 'utf8').catch(nullWhenMissing);
  if (kept !== null) return kept;
  await makeFolder(dirname(path));
  await makeFile(path, random);
  return readFile(path, 'utf8');
}

/** The file is whole from the moment it is there. Where another start was faster it stays as that one made it. */
async function makeFile(path: string, random: Random): Promise<void> {
  const make = (prefix: string): string => prefix + Buffer.from(random.bytes(24)).toString('hex');
  const fresh: Keys = { secretKey: make(DEV_SECRET), publicKey: make(DEV_PUBLIC) };
  const aside = `${path}.${random.uuid()}`;
  await writeAside(aside, Buffer.from(`${JSON.stringify(fresh, null, 2)}\n`));
  try {
    await publish(aside, path);
  } finally {
    await rm(aside, { force: true });
  }
}

function keysIn(text: string, path: string): Keys {
  const { secretKey, publicKey } = fieldsIn(text);
  if (typeof secretKey !== 'string' || typeof publicKey !== 'string') {
    throw new StartRefused(`The file ${path} holds no keys; delete it to have new ones made.`);
  }
  return { secretKey, publicKey };
}

/** None when the text is not JSON, as a file that was cut off. */
function fieldsIn(text: string): { readonly [Key in keyof Keys]?: unknown } {
  try {
    return JSON.parse(text) ?? {};
  } catch {
    return {};
  }
}
