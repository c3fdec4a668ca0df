/** The SDK's hooks for feeds in two real browsers against our server: what one user says, the other reads without reloading. */
import type { Page } from 'playwright-core';
import { afterAll, describe, expect, test } from 'vitest';
import { aServer, freshRoomId } from '../support/e2e/server.ts';
import { until } from '../support/e2e/until.ts';
import { services } from '../support/services.ts';
import { launchBrowser } from './browser.ts';
import { openSite } from './site.ts';

const TEST_MS_MAX = 60_000;

describe.skipIf(!services.has('browser'))('hooks for feeds', async () => {
  const server = await aServer();
  const browser = await launchBrowser();
  const site = await openSite(server, 'feeds.tsx');
  afterAll(async () => {
    await browser.close();
    await site.close();
  });
  const roomId = freshRoomId('feeds');

  /** A browser of one's own, in which errors of the page are kept. */
  async function open(userId: string): Promise<{ page: Page; errors: string[] }> {
    const page = await (await browser.newContext()).newPage();
    const errors: string[] = [];
    page.on('pageerror', (error) => errors.push(String(error)));
    page.on('console', (message) => message.type() === 'error' && errors.push(message.text()));
    await page.goto(site.urlFor({ roomId, userId }));
    await page.locator('main[data-loading=false]').waitFor();
    return { page, errors };
  }

  const press = (page: Page, name: string): Promise<void> => page.getByRole('button', { name, exact: true }).click();
  const pressAt = (page: Page, text: string, name: string): Promise<void> =>
    page.locator('li', { hasText: text }).getByRole('button', { name }).click();
  const textsOn = (page: Page): Promise<string[]> => page.locator('.text').allTextContents();
  const reads = (page: Page, ...texts: string[]): Promise<unknown> =>
    until(`it reads ${texts}`, async () => (await textsOn(page)).join() === texts.join());
  const metadataOn = (page: Page, metadata: object): Promise<void> =>
    page.locator('h2', { hasText: JSON.stringify(metadata) }).waitFor();

  test('[CP2] make a feed, speak, edit, rename, delete: each is seen by the other live, and each promise is kept', {
    timeout: TEST_MS_MAX,
  }, async () => {
    const { page: ann, errors: annsErrors } = await open('ann');
    const { page: bob, errors: bobsErrors } = await open('bob');

    await press(ann, 'Create feed');
    await metadataOn(bob, { name: 'A chat', tags: ['new'] });
    await press(bob, 'Say five');
    for (const page of [ann, bob]) await reads(page, 'one', 'two', 'three', 'four', 'five');
    await pressAt(ann, 'two', 'Edit');
    for (const page of [ann, bob]) await reads(page, 'one', 'two!', 'three', 'four', 'five');
    await pressAt(bob, 'three', 'Delete');
    for (const page of [ann, bob]) await reads(page, 'one', 'two!', 'four', 'five');
    await press(bob, 'Rename feed');
    for (const page of [ann, bob]) await metadataOn(page, { name: 'Our chat' });

    const { page: cy, errors: cysErrors } = await open('cy'); // comes later, and reads page by page
    await reads(cy, 'two!', 'four', 'five');
    await press(cy, 'Older');
    await reads(cy, 'one', 'two!', 'four', 'five');

    await press(ann, 'Delete feed');
    for (const page of [ann, bob, cy]) await until('it is gone', async () => (await page.locator('section').count()) === 0);
    const outcomes = (page: Page) => page.locator('.outcomes').textContent();
    expect(await Promise.all([ann, bob, cy].map(outcomes))).toEqual([
      'done, done, done',
      'done, done, done, done, done, done, done',
      '',
    ]);
    expect([annsErrors, bobsErrors, cysErrors]).toEqual([[], [], []]);
  });
});
