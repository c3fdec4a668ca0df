/** A headless browser for tests: Debian's chromium, or the one that TEST_CHROMIUM names. */
import { type Browser, chromium } from 'playwright-core';
import { services } from '../support/services.ts';

const CHROMIUM = '/usr/bin/chromium';

export function launchBrowser(): Promise<Browser> {
  return chromium.launch({ executablePath: services.given('browser') ?? CHROMIUM, args: ['--no-sandbox', '--disable-gpu'] });
}
