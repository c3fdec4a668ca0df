/**
 * Peers as packages: installed below `peers/` when one is first needed, from a lockfile of its own, so that the product depends on none.
 */
import { spawnSync } from 'node:child_process';
import { existsSync, statSync } from 'node:fs';

const PEERS = new URL('../peers/', import.meta.url);

/** A file of `peers/`, or of a package installed there. */
export function peerFile(path: string): URL {
  return new URL(path, PEERS);
}

/** Installs what the lockfile of a folder names, unless it is there. @throws an Error when that fails. */
export function installPeers(folder: '.' | 'vendor'): void {
  const at = new URL(`${folder}/`, PEERS);
  const [wanted, installed] = [new URL('package-lock.json', at), new URL('node_modules/.package-lock.json', at)];
  if (existsSync(installed) && statSync(installed).mtimeMs >= statSync(wanted).mtimeMs) return;
  console.log(`bench: npm ci in ${at.pathname}, once`);
  const npm = spawnSync('npm', ['ci', '--ignore-scripts', '--no-audit', '--no-fund'], { cwd: at, encoding: 'utf8' });
  if (npm.status !== 0) throw new Error(`the peers could not be installed: ${npm.stderr || npm.error}`);
}
