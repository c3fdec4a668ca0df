/** The live demo in two tabs of a real browser, against our server. */
import { spawn } from 'node:child_process';
import type { Locator, Page } from 'playwright-core';
import { afterAll, describe, expect, onTestFinished, test } from 'vitest';
import { aServer, freshRoomId } from '../support/e2e/server.ts';
import { until } from '../support/e2e/until.ts';
import { services } from '../support/services.ts';
import { launchBrowser, UNTRUSTED_NAME } from './browser.ts';
import { buildPages, openTab } from './pages.ts';

const TEST_MS_MAX = 60_000;

describe.skipIf(!services.has('browser'))('the demo', async () => {
  await buildPages();
  const server = await aServer({ DEMO: 'true' });
  const browser = await launchBrowser();
  afterAll(() => browser.close());
  const pageUrl = (): string => `${server.url}/?${new URLSearchParams({ room: freshRoomId('demo') })}`;

  const note = (page: Page): Locator => page.locator('.note[data-id=second]');
  const items = (page: Page): Promise<string[]> => page.locator('.items label').allTextContents();

  test('[DM4] two tabs see each other: cursor, note, text, list with undo, comment, and who is there', {
    timeout: TEST_MS_MAX,
  }, async () => {
    // each in a window of its own: a tab in the background draws once a second
    const [left, right] = await Promise.all([1, 2].map(() => browser.newContext({ viewport: { width: 1_200, height: 900 } })));
    const url = pageUrl();
    const { page: one, errors } = await openTab(left!, url);
    await note(one).waitFor();
    const { page: two, errors: otherErrors } = await openTab(right!, url);
    await note(two).waitFor();
    const name = (await one.locator('.me').textContent())!.replace(/(alone|and) .*$/, '');
    await two.locator(`.people[title*="${name}"]`).waitFor();

    const board = (await one.locator('.board').boundingBox())!;
    await one.mouse.move(board.x + board.width / 4, board.y + board.height / 2);
    await two.locator(`.cursor[data-name="${name}"]`).waitFor();

    const before = (await note(two).boundingBox())!;
    const grip = (await note(one).locator('.grip').boundingBox())!;
    await one.mouse.move(grip.x + grip.width / 2, grip.y + grip.height / 2);
    await one.mouse.down();
    await one.mouse.move(grip.x + 60, grip.y - 90, { steps: 6 });
    await note(two).locator('.holder', { hasText: name }).waitFor();
    await one.mouse.up();
    await until('the note has moved', async () => (await note(two).boundingBox())!.y < before.y - 40);
    await note(one).locator('textarea').fill('Moved by one');
    await until('its text has come', async () => (await note(two).locator('textarea').inputValue()) === 'Moved by one');

    await one.locator('.text:not(.not-ready) .tiptap').click();
    await one.keyboard.type('Hello from one');
    await two.locator('.tiptap', { hasText: 'Hello from one' }).waitFor();
    await two.locator('.collaboration-carets__label', { hasText: name }).waitFor({ state: 'attached' });

    await one.getByRole('textbox', { name: 'New item' }).fill('Buy milk');
    await one.getByRole('button', { name: 'Add', exact: true }).click();
    await until('the item is there', async () => (await items(two)).includes('Buy milk'));
    await one.getByRole('button', { name: 'Undo', exact: true }).click();
    await until('the item is gone', async () => !(await items(two)).includes('Buy milk'));
    await one.getByRole('button', { name: 'Redo', exact: true }).click();
    await until('it is there again', async () => (await items(two)).includes('Buy milk'));

    await one.locator('.composer [contenteditable=true]').click();
    await one.keyboard.type('What do you think?');
    await one.locator('.composer').getByRole('button', { name: 'Send' }).click();
    await two.locator('.threads .lb-comment', { hasText: 'What do you think?' }).filter({ hasText: name }).waitFor();

    await one.close();
    await until('one has left', async () => (await two.locator('.me').textContent())!.includes('alone'));
    expect([errors, otherErrors]).toEqual([[], []]);
    await right!.close();
  });

  test('[DM7] the tab that the page itself opens is another visitor', { timeout: TEST_MS_MAX }, async () => {
    const context = await browser.newContext({ viewport: { width: 1_200, height: 900 } });
    const { page } = await openTab(context, pageUrl());
    await note(page).waitFor();
    const opened = context.waitForEvent('page');
    await page.getByRole('link', { name: 'Open it in a second tab' }).click();
    const second = await opened;
    await note(second).waitFor();
    const ids = await Promise.all([page, second].map((one) => one.evaluate("sessionStorage.getItem('atrium-visitor')")));
    expect(new Set(ids).size).toBe(2);
    await context.close();
  });

  test('[DM5] a phone shows it without scrolling sideways, and notes are within the board', {
    timeout: TEST_MS_MAX,
  }, async () => {
    const context = await browser.newContext({ viewport: { width: 360, height: 740 }, isMobile: true, hasTouch: true });
    const { page, errors } = await openTab(context, pageUrl());
    await note(page).waitFor();
    expect(await page.evaluate('document.documentElement.scrollWidth')).toBe(360);
    const board = (await page.locator('.board').boundingBox())!;
    const boxes = await Promise.all((await page.locator('.note').all()).map((one) => one.boundingBox()));
    expect(boxes).toHaveLength(3);
    for (const box of boxes) {
      expect(box!.x).toBeGreaterThanOrEqual(board.x);
      expect(box!.x + box!.width).toBeLessThanOrEqual(board.x + board.width);
    }
    expect(errors).toEqual([]);
    await context.close();
  });

  test('[DM6] the lines of code on the page do what they say', { timeout: TEST_MS_MAX }, async () => {
    const context = await browser.newContext({ viewport: { width: 1_200, height: 900 } });
    await context.grantPermissions(['clipboard-read', 'clipboard-write']);
    const { page } = await openTab(context, pageUrl());
    await note(page).waitFor();
    await page.getByRole('button', { name: 'Copy' }).click();
    await page.getByRole('button', { name: 'Copied' }).waitFor();
    const code = (await page.evaluate('navigator.clipboard.readText()')) as string;
    expect(code.trim().split('\n').length).toBeLessThanOrEqual(10);
    runInNode(code);
    await until('the line is in the list', async () => (await items(page)).includes('Hello from my own code'));
    await context.close();
  });

  test('[DM8] over plain HTTP from another address notes and items are added, and code is selected where it cannot be copied', {
    timeout: TEST_MS_MAX,
  }, async () => {
    const context = await browser.newContext({ viewport: { width: 1_200, height: 900 } });
    const url = Object.assign(new URL(pageUrl()), { hostname: UNTRUSTED_NAME }).href;
    const { page, errors } = await openTab(context, url);
    await note(page).waitFor();
    expect(await page.evaluate('isSecureContext || crypto.randomUUID || navigator.clipboard')).toBeFalsy();
    const notes = page.locator('.note');
    const before = await notes.count();
    await page.getByRole('button', { name: 'Add note' }).click();
    await until('the note is there', async () => (await notes.count()) === before + 1);
    await page.getByRole('textbox', { name: 'New item' }).fill('Buy milk');
    await page.getByRole('button', { name: 'Add', exact: true }).click();
    await until('the item is there', async () => (await items(page)).includes('Buy milk'));
    await page.getByRole('button', { name: 'Copy' }).click();
    await page.getByRole('button', { name: 'Press Ctrl+C' }).waitFor();
    expect(await page.evaluate('String(getSelection())')).toContain('createClient({');
    expect(errors).toEqual([]);
    await context.close();
  });
});

/** As a module that somebody pasted. Node 20 has no WebSocket of its own, and its client keeps the process until it is told to end. */
function runInNode(code: string): void {
  const withSocket = code.replace('createClient({', "createClient({ polyfills: { WebSocket: (await import('ws')).WebSocket },");
  const child = spawn(process.execPath, ['--input-type=module', '-e', withSocket], { stdio: 'inherit' });
  onTestFinished(() => void child.kill());
}
