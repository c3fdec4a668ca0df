/** A headless browser for tests: Debian's chromium without its windows, or the one that TEST_CHROMIUM names. */
import { type Browser, chromium } from 'playwright-core';
import { services } from '../support/services.ts';

const CHROMIUM = '/usr/bin/chromium-headless-shell';
/** This machine under a name that browsers do not trust as they trust localhost: over plain HTTP it has neither clipboard nor `randomUUID`. */
export const UNTRUSTED_NAME = 'atrium.test';
const ARGS = ['--no-sandbox', '--disable-gpu', `--host-resolver-rules=MAP ${UNTRUSTED_NAME} 127.0.0.1`];

export function launchBrowser(): Promise<Browser> {
  return chromium.launch({ executablePath: services.given('browser') ?? CHROMIUM, args: ARGS });
}
