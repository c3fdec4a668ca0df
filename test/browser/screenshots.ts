/**
 * Takes the pictures of docs/images from a running server: `npm run screenshots -- URL SECRET_KEY`. It fills the room `demo` and makes rooms
 * that begin with `board:`, so give it a server that has nothing to lose.
 */
import { mkdir } from 'node:fs/promises';
import type { Browser, BrowserContextOptions, Page } from 'playwright-core';
import { chromium } from 'playwright-core';

const [url = 'http://localhost:8080', secretKey = ''] = process.argv.slice(2);
const FOLDER = 'docs/images';
const DESKTOP: BrowserContextOptions = { viewport: { width: 1_280, height: 800 } };
const PHONE: BrowserContextOptions = {
  viewport: { width: 390, height: 844 },
  deviceScaleFactor: 1.5,
  isMobile: true,
  hasTouch: true,
};
const DARK = { colorScheme: 'dark' } as const;
const SETTLED_MS = 900;
const CHARTS_MS = 24_000;

async function api(path: string, body: unknown): Promise<void> {
  const headers = { authorization: `Bearer ${secretKey}`, 'content-type': 'application/json' };
  const { status } = await fetch(url + path, { method: 'POST', headers, body: JSON.stringify(body) });
  if (status >= 400) throw new Error(`${path}: ${status}`);
}

async function makeRooms(): Promise<void> {
  const [subjects, stages, teams] = ['roadmap launch pricing hiring brand research', 'draft review final', 'design web core'].map(
    (words) => words.split(' '),
  ) as [string[], string[], string[]];
  for (let count = 1; count <= 24; count += 1) {
    await api('/v2/rooms?idempotent=true', {
      id: `board:${subjects[count % 6]}-${count}`,
      defaultAccesses: count % 3 === 0 ? [] : ['*:write'],
      usersAccesses: count % 3 === 0 ? { ann: ['*:write'], bob: ['*:read'] } : {},
      metadata: { stage: stages[count % 3]!, team: teams[(count + 1) % 3]! },
    });
  }
}

async function visitor(browser: Browser, options: BrowserContextOptions): Promise<Page> {
  const page = await (await browser.newContext(options)).newPage();
  await page.goto(url);
  await page.locator('.note').first().waitFor();
  await page.locator('.text:not(.not-ready)').waitFor();
  return page;
}

async function pointAt(page: Page, x: number, y: number): Promise<void> {
  const board = (await page.locator('.board').boundingBox())!;
  await page.mouse.move(board.x + board.width * x, board.y + board.height * y, { steps: 4 });
}

const take = (page: Page, name: string) => page.screenshot({ path: `${FOLDER}/${name}.png` });

/** Two tabs as one picture: pages of ours cannot be framed. */
async function takeSideBySide(browser: Browser, pages: readonly Page[]): Promise<void> {
  const pictures = await Promise.all(pages.map(async (page) => (await page.screenshot()).toString('base64')));
  const images = pictures.map((data) => `<img src="data:image/png;base64,${data}">`).join('');
  const style = 'body{margin:0;padding:20px;display:flex;gap:20px;background:#d6d3d1}img{width:820px;border-radius:12px}';
  const page = await browser.newPage({ viewport: { width: 1_700, height: 900 } });
  await page.setContent(`<style>${style}</style>${images}`);
  await page.waitForTimeout(SETTLED_MS);
  await page.screenshot({ path: `${FOLDER}/demo-two-tabs.png`, fullPage: true });
}

async function takeDemo(browser: Browser): Promise<Page[]> {
  const size = { viewport: { width: 1_120, height: 1_180 } };
  const [one, two, phone] = [
    await visitor(browser, size),
    await visitor(browser, { ...size, ...DARK }),
    await visitor(browser, PHONE),
  ];
  await one.locator('.tiptap').click();
  await one.keyboard.type('Notes of the meeting, written by two people at once. ');
  await one.locator('.composer [contenteditable=true]').click();
  await one.keyboard.type('Shall we ship this on Friday?');
  await one.locator('.composer').getByRole('button', { name: 'Send' }).click();
  await two.locator('.threads .lb-thread-composer [contenteditable=true]').first().click();
  await two.keyboard.type('Yes, the list is almost done.');
  await two.locator('.threads').getByRole('button', { name: 'Reply' }).first().click();
  await two.locator('.tiptap').click();
  await two.keyboard.press('Control+End');
  await two.keyboard.type('Each sees where the other writes.');
  const grip = (await one.locator('.note[data-id=third] .grip').boundingBox())!;
  await one.mouse.move(grip.x + 40, grip.y + 10);
  await one.mouse.down();
  await one.mouse.move(grip.x - 60, grip.y + 190, { steps: 8 });
  await pointAt(two, 0.3, 0.55);
  for (const page of [one, two, phone]) await page.evaluate('scrollTo(0, 0)');
  await one.waitForTimeout(SETTLED_MS);
  await takeSideBySide(browser, [one, two]);
  await take(phone, 'demo-phone');
  await one.mouse.up();
  return [one, two];
}

async function takeConsole(
  browser: Browser,
  options: BrowserContextOptions,
  { size, writers }: { size: string; writers: Page[] },
) {
  const page = await (await browser.newContext(options)).newPage();
  await page.goto(`${url}/console`);
  await page.getByLabel('Secret key').fill(secretKey);
  await page.getByRole('button', { name: 'Open' }).click();
  await page.locator('table').waitFor();
  await take(page, `console-rooms-${size}`);
  for (const tab of ['storage', 'connections']) {
    await page.goto(`${url}/console#/rooms/demo/${tab}`);
    await page.locator('.tree').first().waitFor();
    await page.waitForTimeout(SETTLED_MS);
    await take(page, `console-room-${tab}-${size}`);
  }
  await page.goto(`${url}/console#/workers`);
  const endMs = performance.now() + CHARTS_MS;
  while (performance.now() < endMs) {
    for (const writer of writers) await pointAt(writer, Math.random(), Math.random());
    await writers[0]!.getByRole('textbox', { name: 'New item' }).pressSequentially('More of it', { delay: 40 });
    await writers[0]!
      .getByRole('button', { name: 'Undo', exact: true })
      .click({ timeout: 1_000 })
      .catch(() => undefined);
    await writers[1]!.locator('.tiptap').pressSequentially('…', { delay: 40 });
  }
  await take(page, `console-workers-${size}`);
}

await mkdir(FOLDER, { recursive: true });
await makeRooms();
const browser = await chromium.launch({
  executablePath: '/usr/bin/chromium-headless-shell',
  args: ['--no-sandbox', '--disable-gpu'],
});
const writers = await takeDemo(browser);
await takeConsole(browser, DESKTOP, { size: 'desktop', writers });
await takeConsole(browser, { ...PHONE, ...DARK }, { size: 'phone', writers });
await browser.close();
