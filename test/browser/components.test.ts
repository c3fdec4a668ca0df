/** The SDK's React components in two real browsers against our server: what one user does, the other sees without reloading. */
import { mkdir } from 'node:fs/promises';
import type { Locator, Page } from 'playwright-core';
import { afterAll, describe, expect, test } from 'vitest';
import { aServer, freshRoomId } from '../support/e2e/server.ts';
import { until } from '../support/e2e/until.ts';
import { services } from '../support/services.ts';
import { launchBrowser } from './browser.ts';
import { openSite } from './site.ts';

/** Set to keep screenshots there. */
const SCREENSHOTS = process.env.SCREENSHOTS_DIR;
const TEST_MS_MAX = 120_000;

describe.skipIf(!services.has('browser'))('Thread, Composer and InboxNotification', async () => {
  const server = await aServer();
  const browser = await launchBrowser();
  const site = await openSite(server, 'app.tsx');
  afterAll(async () => {
    await browser.close();
    await site.close();
  });
  const roomId = freshRoomId('components');

  /** A browser of one's own, in which errors of the page are kept. */
  async function open(userId: string, room = roomId): Promise<{ page: Page; errors: string[] }> {
    const context = await browser.newContext({ viewport: { width: 1_000, height: 760 } });
    const page = await context.newPage();
    const errors: string[] = [];
    page.on('pageerror', (error) => errors.push(String(error)));
    page.on('response', (response) => {
      const isDeletedThread = response.status() === 404 && response.url().includes('/thread-with-notification/');
      if (response.status() >= 400 && !isDeletedThread) errors.push(`${response.status()} ${response.url()}`);
    });
    await page.goto(site.urlFor({ roomId: room, userId }));
    await page.locator('aside h2').waitFor();
    return { page, errors };
  }

  const commentOf = (page: Page, text: string): Locator => page.locator('main .lb-comment', { hasText: text });
  const sees = (page: Page, text: string): Promise<void> => commentOf(page, text).first().waitFor();
  const notified = (page: Page, by: string): Promise<void> =>
    page.locator('aside .lb-inbox-notification', { hasText: by }).waitFor();
  const isNotified = (page: Page, by: string): Promise<boolean> =>
    page.locator('aside .lb-inbox-notification', { hasText: by }).isVisible();
  /** The SDK polls the inbox once a minute, and when somebody comes back to the page after some seconds. */
  const lookAgain = (page: Page): Promise<void> => page.evaluate("document.dispatchEvent(new Event('visibilitychange'))");
  const counted = (page: Page): Promise<string | null> => page.locator('.counted').textContent();

  async function write(composer: Locator, text: string): Promise<void> {
    await composer.locator('[contenteditable=true]').click();
    await composer.page().keyboard.type(text, { delay: 5 });
  }

  async function send(composer: Locator, name: 'Send' | 'Reply'): Promise<void> {
    await composer.getByRole('button', { name }).click();
  }

  async function choose(comment: Locator, action: string): Promise<void> {
    await comment.hover();
    await comment.getByRole('button', { name: 'More' }).click();
    await comment.page().getByRole('menuitem', { name: action }).click();
  }

  test('[CP1] create with a mention, reply, react, edit, resolve and delete: each is seen by the other live, and so is the inbox', {
    timeout: TEST_MS_MAX,
  }, async () => {
    const { page: ann, errors: annsErrors } = await open('ann');
    const { page: bob, errors: bobsErrors } = await open('bob');

    const { page: cy, errors: cysErrors } = await open('cy', ''); // in no room: looks at the inbox alone

    const composer = ann.locator('.new-thread');
    await write(composer, 'Please look at this, @bo');
    await ann.getByRole('option', { name: 'Bob' }).click();
    await ann.keyboard.type('and @cy');
    await ann.getByRole('option', { name: 'Cy' }).click();
    await send(composer, 'Send');
    await sees(bob, 'Please look at this');
    await commentOf(bob, 'Please look at this').locator('.lb-mention', { hasText: 'Bob' }).waitFor();
    await notified(bob, 'Ann');
    await until('it is counted', () => lookAgain(cy).then(async () => (await counted(cy)) === '1'), { timeoutMs: 15_000 });
    await until('it is in the inbox', () => lookAgain(cy).then(() => isNotified(cy, 'Ann')), { timeoutMs: 15_000 });

    await write(bob.locator('.thread .lb-thread-composer'), 'I see nothing');
    await send(bob.locator('.thread .lb-thread-composer'), 'Reply');
    await sees(ann, 'I see nothing');
    await notified(ann, 'Bob');

    await ann.locator('.applaud').click();
    const hers = commentOf(bob, 'I see nothing').locator('.lb-comment-reaction', { hasText: '👏' });
    await hers.waitFor();
    await hers.click();
    const both = commentOf(ann, 'I see nothing').locator('.lb-comment-reaction', { hasText: '2' });
    await both.waitFor();

    await choose(commentOf(bob, 'I see nothing'), 'Edit comment');
    const editor = bob.locator('main .lb-comment-composer');
    await editor.locator('[contenteditable=true]').click();
    await bob.keyboard.press('End');
    await bob.keyboard.type(' at all');
    await editor.getByRole('button', { name: 'Save' }).click();
    await sees(ann, 'I see nothing at all');
    if (SCREENSHOTS !== undefined) {
      await mkdir(SCREENSHOTS, { recursive: true });
      await ann.screenshot({ path: `${SCREENSHOTS}/comments-ann.png` });
      await bob.screenshot({ path: `${SCREENSHOTS}/comments-bob.png` });
    }

    await ann.getByRole('button', { name: 'Resolve thread' }).click();
    await bob.locator('.thread[data-resolved=true]').waitFor();

    await choose(commentOf(bob, 'I see nothing at all'), 'Delete comment');
    await until('it is gone', async () => (await commentOf(ann, 'I see nothing at all').count()) === 0);
    await choose(commentOf(ann, 'Please look at this'), 'Delete comment');
    await until('the thread is gone', async () => (await bob.locator('.thread').count()) === 0);
    expect([annsErrors, bobsErrors, cysErrors]).toEqual([[], [], []]);
  });
});
