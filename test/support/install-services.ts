/**
 * Finds the services of `services.ts`, and installs those that are missing where it may: vitest runs it once, before the first test file.
 *
 * It looks only when a file of the run asks for services, and never starts one: test files start their own.
 */
import { execFile } from 'node:child_process';
import { accessSync, constants, existsSync, readFileSync } from 'node:fs';
import { delimiter, dirname, join, resolve } from 'node:path';
import { fileURLToPath } from 'node:url';
import { promisify } from 'node:util';
import type { TestProject } from 'vitest/node';
import { type Missing, SERVICES, type ServiceName } from './services.ts';

const ASKED_HERE = fileURLToPath(new URL('./services.ts', import.meta.url));
const INSTALL_TIMEOUT_MS = 900_000;
const APT_OUTPUT_BYTES_MAX = 16 * 1024 * 1024;

/**
 * Two runs at once install one after the other. `policy-rc.d` keeps a package from starting its own daemon, which would hold the usual
 * port. The first try fails where the lists of packages are missing or too old.
 */
const INSTALL = `
trap 'exit 1' INT TERM
policy=/usr/sbin/policy-rc.d
if [ ! -e $policy ]; then
  trap "rm -f $policy" EXIT
  printf '#!/bin/sh\\nexit 101\\n' > $policy && chmod 755 $policy
fi
install() { apt-get install -y --no-install-recommends -o DPkg::Lock::Timeout=120 "$@"; }
install "$@" || { apt-get update && install "$@"; }
`;

export default async function setup(project: TestProject): Promise<void> {
  const names = Object.keys(SERVICES) as ServiceName[];
  const lacking = names.filter((name) => !isThere(name));
  const given = names.filter((name) => isGiven(name));
  project.provide(
    'missingServices',
    sentences(names, () => null),
  );
  if (lacking.length + given.length === 0 || !asksForServices(project.vitest.state.getPaths())) return;
  for (const name of given)
    console.error(`\n!!! ${SERVICES[name].givenBy} is set: tests that need ${name} of their own are skipped.\n`);
  if (lacking.length === 0) return;
  const reason = await install(lacking);
  const missing = sentences(names, (name) => (isThere(name) ? null : sentenceFor(name, reason)));
  for (const sentence of Object.values(missing)) if (sentence !== null) console.error(`\n!!! ${sentence}\n`);
  project.provide('missingServices', missing);
}

function sentences(names: readonly ServiceName[], of: (name: ServiceName) => string | null): Missing {
  return Object.fromEntries(names.map((name) => [name, of(name)])) as Missing;
}

function isThere(name: ServiceName): boolean {
  return isGiven(name) || SERVICES[name].binaries.every(isOnPath);
}

function isGiven(name: ServiceName): boolean {
  return Boolean(process.env[SERVICES[name].givenBy]);
}

function isOnPath(binary: string): boolean {
  return (process.env.PATH ?? '').split(delimiter).some((folder) => {
    try {
      accessSync(join(folder, binary), constants.X_OK);
      return true;
    } catch {
      return false; // not in this folder
    }
  });
}

/** Whether one of the files, or what they import, asks `services.ts`. Read as text: a path in a string may name no file. */
function asksForServices(files: readonly string[]): boolean {
  const seen = new Set(files);
  for (const file of seen) {
    if (file === ASKED_HERE) return true;
    if (!existsSync(file)) continue;
    for (const [, target] of readFileSync(file, 'utf8').matchAll(/\bfrom '(\.[^']+\.ts)'/g))
      seen.add(resolve(dirname(file), target!));
  }
  return false;
}

/** Installs what the services need. Returns why it could not, or null. */
async function install(lacking: readonly ServiceName[]): Promise<string | null> {
  if (process.getuid?.() !== 0 || !isOnPath('apt-get')) return 'only root can install them here, with apt';
  const packages = lacking.flatMap((name) => SERVICES[name].packages);
  console.error(`Installing ${packages.join(', ')}: tests need them. Once; it may take some minutes.`);
  const seconds = String(INSTALL_TIMEOUT_MS / 1000);
  try {
    await promisify(execFile)(
      'timeout',
      [seconds, 'flock', '/tmp/atrium-install-services.lock', 'sh', '-c', INSTALL, 'sh', ...packages],
      { env: { ...process.env, DEBIAN_FRONTEND: 'noninteractive' }, maxBuffer: APT_OUTPUT_BYTES_MAX },
    );
    return null;
  } catch (error) {
    const { stdout = '', stderr = '' } = error as { stdout?: string; stderr?: string };
    console.error(stdout + stderr);
    return 'apt could not install them, see above';
  }
}

function sentenceFor(name: ServiceName, reason: string | null): string {
  const { packages, givenBy } = SERVICES[name];
  const because = reason ?? 'apt installed them without the binaries that tests start';
  return `The tests that need ${name} cannot run: ${because}. Install ${packages.join(', ')}, or set ${givenBy}.`;
}
