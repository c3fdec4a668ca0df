/** The pages of the server in a browser: built first, and each tab watched for errors. */
import { execFile } from 'node:child_process';
import { promisify } from 'node:util';
import type { BrowserContext, Page } from 'playwright-core';

const BUILD_MS_MAX = 20_000;

/** As `npm run build` does it; a server that is started now serves them. */
export async function buildPages(): Promise<void> {
  await promisify(execFile)(process.execPath, ['src/web/build.mjs'], { timeout: BUILD_MS_MAX });
}

export interface Tab {
  readonly page: Page;
  /** Uncaught errors, and what the page's policy refused to load or run. */
  readonly errors: string[];
}

export async function openTab(context: BrowserContext, url: string): Promise<Tab> {
  const page = await context.newPage();
  const errors: string[] = [];
  page.on('pageerror', (error) => errors.push(String(error)));
  page.on('console', (message) => {
    if (message.type() === 'error' && message.text().includes('Content Security Policy')) errors.push(message.text());
  });
  await page.goto(url);
  return { page, errors };
}
