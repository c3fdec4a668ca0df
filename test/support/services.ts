/**
 * The services that some tests need and npm does not bring: a test asks here whether it can have one.
 *
 * `install-services.ts` finds or installs them once, before the first test file; this module only knows what it found.
 */
import { inject } from 'vitest';

interface Service {
  /** What must be on the PATH. */
  readonly binaries: readonly string[];
  /** The packages of Debian that bring them. */
  readonly packages: readonly string[];
  /** The environment variable that names a running one to use instead. */
  readonly givenBy: string;
}

export type ServiceName = 'redis' | 'ceph' | 'browser';

export const SERVICES: Readonly<Record<ServiceName, Service>> = {
  redis: {
    binaries: ['redis-server', 'redis-sentinel', 'redis-cli', 'openssl'],
    packages: ['redis-server', 'redis-sentinel', 'redis-tools', 'openssl'],
    givenBy: 'TEST_REDIS_URL',
  },
  ceph: {
    binaries: ['radosgw', 'ceph-mon', 'ceph-osd', 'radosgw-admin', 'monmaptool', 'ceph'],
    packages: ['radosgw', 'ceph-mon', 'ceph-osd', 'ceph-common'],
    givenBy: 'TEST_S3_ENDPOINT',
  },
  /** The shell alone, which shows no window: the pages cost a third less than with the whole browser. */
  browser: {
    binaries: ['chromium-headless-shell'],
    packages: ['chromium-headless-shell', 'fonts-noto-color-emoji'],
    givenBy: 'TEST_CHROMIUM',
  },
};

/** For each service why it cannot be had, as a sentence, or null. */
export type Missing = Readonly<Record<ServiceName, string | null>>;

declare module 'vitest' {
  interface ProvidedContext {
    missingServices: Missing;
  }
}

export const services = {
  /**
   * Whether tests can use the service: its binaries are here, or its environment variable names a running one.
   *
   * `describe.skipIf(!services.has('redis'))(…)`. The line that says why was printed before the first test.
   * @throws an Error with that line when `CI` is set: there, a service that is missing is a failure.
   */
  has(name: ServiceName): boolean {
    const missing = inject('missingServices')[name];
    if (missing !== null && process.env.CI) throw new Error(missing);
    return missing === null;
  },

  /** The running service that the environment names, or null: then a test starts its own. */
  given(name: ServiceName): string | null {
    return process.env[SERVICES[name].givenBy] || null;
  },

  /** Whether tests have a service of their own, which they may stop, freeze and lose. Faults are for such a one only. */
  isOurs(name: ServiceName): boolean {
    return this.has(name) && this.given(name) === null;
  },
};
