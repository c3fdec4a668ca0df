/** The live demo where other programs, the network or the server are not as it would like them. */
import type { Page } from 'playwright-core';
import { afterAll, describe, expect, test } from 'vitest';
import * as Y from 'yjs';
import { ask, roomPath } from '../support/e2e/rest.ts';
import { enter } from '../support/e2e/sdk-client.ts';
import { aServer, freshRoomId } from '../support/e2e/server.ts';
import { until } from '../support/e2e/until.ts';
import { plainEditor } from '../support/e2e/yjs-clients.ts';
import { services } from '../support/services.ts';
import { launchBrowser } from './browser.ts';
import { buildPages, openTab, type Tab } from './pages.ts';

const TEST_MS_MAX = 60_000;
const EVERYTHING = { permissions: { '*': ['*:write'] } };

describe.skipIf(!services.has('browser'))('the demo, in trouble', async () => {
  await buildPages();
  const server = await aServer({ DEMO: 'true' });
  const browser = await launchBrowser();
  afterAll(() => browser.close());

  /** A tab in a window of its own, once the room is there. */
  async function tabIn(room: string): Promise<Tab> {
    const context = await browser.newContext({ viewport: { width: 1_200, height: 900 } });
    const tab = await openTab(context, `${server.url}/?${new URLSearchParams({ room })}`);
    await tab.page.locator('.items').waitFor();
    return tab;
  }
  const items = (page: Page): Promise<string[]> => page.locator('.items label').allTextContents();
  async function writeText(page: Page, text: string): Promise<void> {
    await page.locator('.text:not(.not-ready) .tiptap').click();
    await page.keyboard.type(text);
  }
  async function writeComment(page: Page, text: string): Promise<void> {
    await page.locator('.composer [contenteditable=true]').click();
    await page.keyboard.type(text);
    await page.locator('.composer').getByRole('button', { name: 'Send' }).click();
  }

  test('[DM10] undo works on after a note was deleted by somebody while it was dragged', { timeout: TEST_MS_MAX }, async () => {
    const room = freshRoomId('demo');
    const { page: one } = await tabIn(room);
    const { page: two } = await tabIn(room);
    const grip = (await one.locator('.note[data-id=second] .grip').boundingBox())!;
    await one.mouse.move(grip.x + grip.width / 2, grip.y + grip.height / 2);
    await one.mouse.down();
    await one.mouse.move(grip.x + 60, grip.y - 60, { steps: 4 });
    await two.locator('.note[data-id=second]').getByRole('button', { name: 'Delete' }).click();
    await one.locator('.note[data-id=second]').waitFor({ state: 'detached' });
    await one.mouse.up();
    await one.getByRole('textbox', { name: 'New item' }).fill('Buy milk');
    await one.getByRole('button', { name: 'Add', exact: true }).click();
    await one.getByRole('button', { name: 'Undo', exact: true }).click();
    await until('the item is gone', async () => !(await items(one)).includes('Buy milk'));
    await Promise.all([one, two].map((page) => page.context().close()));
  });

  test('[DM11] what other programs leave in the text, or show as their caret, closes it to nobody', {
    timeout: TEST_MS_MAX,
  }, async () => {
    const room = freshRoomId('demo');
    const { page: one, errors } = await tabIn(room);
    await writeText(one, 'Hello');
    const carets = ['here', { anchor: {}, head: {} }, { anchor: { item: { client: 1, clock: -1 } }, head: null }];
    for (const [index, cursor] of carets.entries()) {
      const program = await enter(server, { roomId: `demo:${room}`, userId: `program-${index}`, ...EVERYTHING });
      program.room.updatePresence({ __yjs_clientid: index, __yjs: { cursor, user: { name: 1, color: { toString: 1 } } } });
    }
    const [eve, ian] = await Promise.all(
      ['eve', 'ian'].map((userId) => plainEditor(server, { roomId: `demo:${room}`, userId, ...EVERYTHING })),
    );
    eve!.doc.getText('text').insert(0, 'plain text');
    ian!.doc.getArray('text').insert(0, [new Y.Map(), { a: 1 }]);
    const { page: two, errors: otherErrors } = await tabIn(room);
    await two.locator('.tiptap', { hasText: 'Hello' }).waitFor();
    await writeText(two, 'Both write. ');
    await one.locator('.tiptap', { hasText: 'Both write. ' }).waitFor();
    expect([errors, otherErrors]).toEqual([[], []]);
    await Promise.all([one, two].map((page) => page.context().close()));
  });

  test('[DM12] a part that cannot be shown says so in its place; the others work', { timeout: TEST_MS_MAX }, async () => {
    const room = freshRoomId('demo');
    const { page: before } = await tabIn(room);
    const program = await enter(server, { roomId: `demo:${room}`, userId: 'bob', ...EVERYTHING });
    const { root } = await program.room.getStorage();
    root.set('list', 'no list');
    await before.locator('.list-card[role=alert]', { hasText: 'could not show' }).waitFor();
    await writeText(before, 'Still here');
    await before.locator('.tiptap', { hasText: 'Still here' }).waitFor();
    await before.context().close();
  });

  test('[DM13] a comment that cannot be sent is not lost', { timeout: TEST_MS_MAX }, async () => {
    const { page } = await tabIn(freshRoomId('demo'));
    await page.context().setOffline(true);
    await page.locator('.status:not(.good)').waitFor();
    await writeComment(page, 'Written in a tunnel');
    await page.getByText('Not connected: a comment can be written, but not sent.').waitFor();
    await page.context().setOffline(false);
    await page.locator('.status.good').waitFor();
    expect(await page.locator('.composer [contenteditable=true]').textContent()).toBe('Written in a tunnel');
    await page.locator('.composer').getByRole('button', { name: 'Send' }).click();
    await page.locator('.threads .lb-comment', { hasText: 'Written in a tunnel' }).waitFor();

    await page.route('**/threads', (route) =>
      route.fulfill({ status: 422, body: '{"error":"UNPROCESSABLE_ENTITY","message":"No."}' }),
    );
    await writeComment(page, 'Refused');
    await page.getByRole('alert').filter({ hasText: 'The server did not take this comment: Refused' }).waitFor();
    await page.context().close();
  });

  test('[DM14] a page that is shut out says that what is done there is lost, and how to come back', {
    timeout: TEST_MS_MAX,
  }, async () => {
    const room = freshRoomId('demo');
    const { page } = await tabIn(room);
    await ask(server, roomPath(`demo:${room}`), { method: 'DELETE' });
    await page.getByRole('alert').getByRole('link', { name: 'Enter it again' }).click();
    await page.locator('.status.good').waitFor();
    expect(await page.getByRole('alert').count()).toBe(0);
    await page.goto(`${server.url}/?room=a*b`);
    await page.getByText('This room cannot be entered.').waitFor();
    await page.context().close();
  });

  test('[DM15] any room that the address names is named so in the lines of code, and cut between characters', {
    timeout: TEST_MS_MAX,
  }, async () => {
    const room = `it's "\\ ${'x'.repeat(51)}💥💥`;
    const { page } = await tabIn(room);
    const code = (await page.locator('.code code').textContent())!;
    const named = /enterRoom\((.*)\)\.room/.exec(code)![1]!;
    expect(JSON.parse(named)).toBe(`demo:${room}`.slice(0, -2));
    await page.context().close();
  });
});
