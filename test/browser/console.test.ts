/** The console in a real browser, against our server. */
import type { Page } from 'playwright-core';
import { afterAll, describe, expect, test } from 'vitest';
import { ask, roomPath } from '../support/e2e/rest.ts';
import { enter, listen, rootOf, saved } from '../support/e2e/sdk-client.ts';
import { aServer, freshRoomId } from '../support/e2e/server.ts';
import { until } from '../support/e2e/until.ts';
import { services } from '../support/services.ts';
import { launchBrowser } from './browser.ts';
import { buildPages, openTab } from './pages.ts';

const TEST_MS_MAX = 60_000;

describe.skipIf(!services.has('browser'))('the console', async () => {
  await buildPages();
  const server = await aServer();
  const browser = await launchBrowser();
  afterAll(() => browser.close());

  async function signedIn(): Promise<{ page: Page; errors: string[] }> {
    const context = await browser.newContext({ viewport: { width: 1_200, height: 900 } });
    const tab = await openTab(context, `${server.url}/console`);
    await tab.page.getByLabel('Secret key').fill(server.secretKey);
    await tab.page.getByRole('button', { name: 'Open' }).click();
    await tab.page.getByRole('heading', { name: 'Rooms' }).waitFor();
    return tab;
  }
  const openPart = (page: Page, name: string) => page.getByLabel('Parts of the room').getByRole('link', { name }).click();
  const tree = (page: Page) => page.locator('.tree').first();

  test('[CS5] a wrong key opens nothing; the right one stays until it is forgotten', { timeout: TEST_MS_MAX }, async () => {
    const context = await browser.newContext();
    const { page, errors } = await openTab(context, `${server.url}/console`);
    await page.getByLabel('Secret key').fill('sk_wrong');
    await page.getByRole('button', { name: 'Open' }).click();
    await page.getByRole('alert').waitFor();
    await page.getByLabel('Secret key').fill(server.secretKey);
    await page.getByRole('button', { name: 'Open' }).click();
    await page.getByRole('heading', { name: 'Rooms' }).waitFor();
    await page.reload();
    await page.getByRole('heading', { name: 'Rooms' }).waitFor();
    await page.getByRole('button', { name: 'Sign out' }).click();
    await page.reload();
    await page.getByLabel('Secret key').waitFor();
    expect(errors).toEqual([]);
    await context.close();
  });

  test('[CS9] a server that cannot answer now says so itself; a wrong key is called wrong', {
    timeout: TEST_MS_MAX,
  }, async () => {
    const context = await browser.newContext();
    const { page } = await openTab(context, `${server.url}/console`);
    const said = async (secretKey = 'sk_wrong'): Promise<string | null> => {
      await page.getByLabel('Secret key').fill(secretKey);
      await page.getByRole('button', { name: 'Open' }).click();
      return page.getByRole('alert').textContent();
    };
    expect(await said()).toBe('The server does not know this key.');
    expect(await said('sk_…')).toBe('The server does not know this key.');
    const body = JSON.stringify({ error: 'DATABASE_UNAVAILABLE', message: 'The database is away.' });
    await page.route('**/v2/rooms?*', (route) => route.fulfill({ status: 503, body }));
    await page.reload();
    expect(await said()).toBe('The database is away.');
    await context.close();
  });

  test('[CS6] one room: found by search; connections with presence, Storage, Yjs, versions; a broadcast, and a deletion after its question', {
    timeout: TEST_MS_MAX,
  }, async () => {
    const roomId = freshRoomId('console');
    const visitor = await enter(server, {
      roomId,
      userId: 'ann',
      userInfo: { name: 'Ann' },
      initialPresence: { mood: 'curious' },
      initialStorage: () => ({ title: 'A plan' }),
    });
    await rootOf(visitor);
    await saved(visitor);
    const events = listen(visitor.room.events.customEvent);
    await ask(server, '/v2/rooms', { json: { id: `${roomId}-other`, defaultAccesses: [], metadata: { stage: 'draft' } } });

    const { page, errors } = await signedIn();
    await page.getByLabel('Search rooms').fill(roomId);
    await page.getByRole('button', { name: 'Search' }).click();
    await until('only these are listed', async () => (await page.locator('tbody tr').count()) === 2);
    await page.getByLabel('Search rooms').fill(`roomId^"${roomId}" AND metadata["stage"]:"draft"`);
    await page.getByRole('button', { name: 'Search' }).click();
    await until('only one is left', async () => (await page.locator('tbody tr').count()) === 1);
    await page.goBack();
    await page.getByRole('link', { name: roomId, exact: true }).click();

    await page.locator('.person', { hasText: 'Ann' }).waitFor();
    expect(await tree(page).textContent()).toContain('mood “curious”');
    await openPart(page, 'Storage');
    await page.locator('.tree', { hasText: 'A plan' }).waitFor();
    await openPart(page, 'Yjs');
    await page.getByText('The Yjs document is empty.').waitFor();

    await page.getByRole('button', { name: 'Make a version' }).click();
    await page.getByRole('dialog').getByRole('button', { name: 'Make a version' }).click();
    await page.getByText(/Version vh_.* was made/).waitFor();
    await openPart(page, 'Versions');
    await page.locator('.version-row', { hasText: 'ann' }).waitFor();

    await page.getByRole('button', { name: 'Broadcast' }).click();
    await page.getByRole('dialog').getByRole('button', { name: 'Broadcast' }).click();
    await until('the event came', () => events.length === 1);

    await page.getByRole('button', { name: 'Delete' }).click();
    const sure = page.getByRole('dialog').getByRole('button', { name: 'Delete this room' });
    expect(await sure.isDisabled()).toBe(true);
    await page.getByRole('dialog').getByLabel('Room ID').fill(roomId);
    await sure.click();
    await page.getByRole('heading', { name: 'Rooms' }).waitFor();
    expect((await ask(server, roomPath(roomId))).status).toBe(404);
    expect((await ask(server, roomPath(`${roomId}-other`))).status).toBe(200);
    expect(errors).toEqual([]);
    await page.context().close();
  });

  test('[CS10] what is shown is not taken for what is: a room that was deleted, or an answer that did not come, is said', {
    timeout: TEST_MS_MAX,
  }, async () => {
    const roomId = freshRoomId('console');
    await ask(server, '/v2/rooms', { json: { id: roomId, defaultAccesses: [] } });
    const { page } = await signedIn();
    await page.route('**/v2/rooms?*', (route) => route.abort());
    await page.getByRole('button', { name: 'Search' }).click();
    await page.getByRole('alert').filter({ hasText: 'The server does not answer.' }).waitFor();
    expect(await page.locator('tbody tr').count()).toBeGreaterThan(0);
    await page.goto(`${server.url}/console#/rooms/${roomId}/connections`);
    await page.getByText('Nobody is here; the room sleeps.').waitFor();
    await ask(server, roomPath(roomId), { method: 'DELETE' });
    await page.getByRole('alert').filter({ hasText: 'does not exist' }).waitFor();
    await page.context().close();
  });

  test('[CS11] a tab shows at once what was done above it', { timeout: TEST_MS_MAX }, async () => {
    const roomId = freshRoomId('console');
    await ask(server, '/v2/rooms', { json: { id: roomId, defaultAccesses: [] } });
    const { page } = await signedIn();
    await page.goto(`${server.url}/console#/rooms/${roomId}/versions`);
    await page.getByText('No versions yet.').waitFor();
    await page.getByRole('button', { name: 'Make a version' }).click();
    await page.getByRole('dialog').getByRole('button', { name: 'Make a version' }).click();
    await page.locator('.version-row').waitFor();
    await page.context().close();
  });

  test('[CS12] any room id is found by what is typed, and opened by its address, also as somebody types it', {
    timeout: TEST_MS_MAX,
  }, async () => {
    const { page, errors } = await signedIn();
    for (const end of ['100%', 'a\\b', '../x', 'a%2Fb', '<b>x</b>']) {
      const roomId = `${freshRoomId('odd')}${end}`;
      await ask(server, '/v2/rooms', { json: { id: roomId, defaultAccesses: [] } });
      await page.goto(`${server.url}/console#/rooms`);
      await page.getByLabel('Search rooms').fill(roomId);
      await page.getByRole('button', { name: 'Search' }).click();
      await page.getByRole('link', { name: roomId, exact: true }).click();
      await page.getByRole('heading', { name: roomId, exact: true }).waitFor();
      await page.getByText('Nobody is here; the room sleeps.').waitFor();
    }
    await page.goto(`${server.url}/console#/rooms/100%`);
    await page.getByRole('heading', { name: '100%', exact: true }).waitFor();
    expect(errors).toEqual([]);
    await page.context().close();
  });

  test('[CS7] workers: figures and charts that move', { timeout: TEST_MS_MAX }, async () => {
    const { page, errors } = await signedIn();
    await page.getByLabel('Console').getByRole('link', { name: 'Workers' }).click();
    await page.locator('.worker .status.good').first().waitFor();
    expect(await page.locator('.chart canvas').count()).toBe(8);
    await page.locator('.figures div', { hasText: 'Lease' }).first().locator('dd', { hasText: ' s' }).waitFor();
    const load = page.locator('.chart canvas').first();
    for (const what of ['the chart is drawn', 'a moment is added to it']) {
      const before = await load.screenshot();
      await until(what, async () => !before.equals(await load.screenshot()));
    }
    expect(errors).toEqual([]);
    await page.context().close();
  });
});
