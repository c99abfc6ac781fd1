// What people do with what bindings hold, by clicks in the dashboard: over `platform dev` and over production the same.
// For test/browser/. Production asks once a page before it is changed; each task has a page of its own.
import assert from 'node:assert/strict';
import { mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { test } from 'node:test';
import type { Page } from 'playwright-core';
import { resourceProject } from '#test/contract/resource-api.ts';
import type { DashboardBrowser } from './dashboard-browser.ts';
import type { Json } from './whole-platform.ts';
import { until } from './until.ts';

/** Names that would be markup where they are not text. */
const MARKUP = '<img src=x onerror=alert(1)>';

const PASSWORD = 'long enough';
/** Rows of the table that everything is tried on. */
const ROWS = 100_000;

/** The project of the contract tests, whose worker also says what it got. */
export const taskProject: Readonly<Record<string, string>> = {
  ...resourceProject,
  'src/index.ts': resourceProject['src/index.ts'].replace(
    "return new Response('ok');",
    `const { pathname } = new URL(request.url);
    console.log('asked for <b>' + pathname + '</b>');
    if (pathname === '/long') console.log('x'.repeat(1_000_000));
    if (pathname === '/throw') throw new Error('on purpose');
    return Response.json({ got: await request.text() }, { status: pathname === '/teapot' ? 418 : 200, headers: { 'set-cookie': 'sid=hunter2; Path=/' } });`,
  ),
};

/** Who answers for the project. */
export interface TaskPlace {
  readonly dashboard: DashboardBrowser;
  /** Asks the API for a path behind `/projects/:id`; fails where the answer is none of success. */
  ask(method: string, path: string, body?: unknown): Promise<Json>;
  /** Asks the app itself. */
  visitApp(path: string, body?: unknown): Promise<{ readonly status: number; readonly text: string }>;
}

/** Puts something into every binding. */
export async function fillBindings({ ask, visitApp }: TaskPlace): Promise<void> {
  const query = (sql: string, params: readonly unknown[] = []) =>
    ask('POST', '/databases/DB/query', { sql, params: [...params] });
  await query(`WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < ${ROWS})
    INSERT INTO guests (name, photo) SELECT 'guest ' || i, CASE WHEN i % 3 = 0 THEN x'00ff10' END FROM n`);
  await query('UPDATE guests SET name = ?1 WHERE id = 2', [MARKUP]);
  await query('UPDATE guests SET name = ?1 WHERE id = 3', ['שלום עולם '.repeat(100_000)]);
  await ask('POST', '/databases/DB/copies');
  for (const n of [1, 2, 3])
    await ask('POST', '/queues/JOBS/messages', { payload: { poison: true, n, note: '<b>x</b>' } });
  await ask('POST', '/queues/LATER/messages', { payload: { n: 1 }, delaySeconds: 6000 });
  await ask('PUT', '/state/KV/entry?key=settings%2Ftheme', { value: '{"dark":true}', metadata: { by: 'me' } });
  await ask('PUT', '/state/KV/entry?key=large', { value: 'x'.repeat(1_000_000), expirationTtl: 86_400 });
  await ask('PUT', '/state/KV/entry?key=bytes', { base64: 'AAECAwT/' });
  await ask('PUT', '/timers/TIMER/entry?key=egg', { afterMs: 86_400_000, payload: { n: 1 } });
  await ask('POST', '/workflows/ORDER/runs', { input: { price: 40 }, id: 'run-1' });
  await ask('POST', '/users', { email: 'ann@example.org', password: PASSWORD, name: 'Ann' });
  await visitApp('/cache');
  for (const name of ['lobby', 'garden']) await visitApp(`/room?name=${name}&method=say&text=hello`);
  await visitApp('/room?name=garden&method=wake');
  for (const path of ['/first', '/teapot', '/throw']) await visitApp(path);
  await until(async () => (await ask('GET', '/queues/JOBS/messages?dead=true')).items.length === 3);
}

/** Runs the tasks. @param place is known once the tests run. */
export function testBindingTasks(place: () => TaskPlace): void {
  const visit = (at: string): Promise<Page> => place().dashboard.visit(`/projects/shop${at}`);
  const value = async (sql: string): Promise<unknown> =>
    (await place().ask('POST', '/databases/DB/query', { sql, params: [] })).rows[0][0];

  test('an object is asked with SQL, and its instance ended', async () => {
    // It is in memory for a minute.
    await place().visitApp('/room?name=garden&method=say&text=again');
    const page = await visit('/storage/objects/ROOM');
    await page.getByText('garden').click();
    const sheet = page.getByRole('dialog');
    await sheet.getByText('In memory').waitFor();
    await sheet.getByRole('button', { name: 'Run', exact: true }).click();
    await sheet.getByText('CREATE TABLE line').first().waitFor();
    await sheet.getByRole('button', { name: 'Reset' }).click();
    await page.getByRole('button', { name: 'Reset object' }).click();
    await agree(page);
    await says(page, 'Object reset');
  });

  test('a row is changed, its statement shown before it runs', async () => {
    const page = await visit('/storage/databases/DB?table=guests&row=0');
    const sheet = page.getByRole('dialog');
    await sheet.getByRole('button', { name: 'Edit name' }).click();
    await sheet.getByLabel('Value', { exact: true }).fill("O'Neill");
    await sheet.getByText(`UPDATE "guests" SET "name" = 'O''Neill' WHERE "id" IS 1`).waitFor();
    await sheet.getByRole('button', { name: 'Run statement' }).click();
    await agree(page);
    await says(page, 'name updated');
    assert.equal(await value('SELECT name FROM guests WHERE id = 1'), "O'Neill");
    // What lies under a sheet has no roles.
    await page.locator('[role=grid]').getByText("O'Neill").waitFor();
  });

  test('a cell is changed after one click, and a tab beside shows it', async () => {
    const [page, beside] = [
      await visit('/storage/databases/DB?table=guests'),
      await visit('/storage/databases/DB?table=guests'),
    ];
    await page
      .getByRole('gridcell')
      .filter({ hasText: /^guest 6$/ })
      .click();
    const field = page.getByRole('dialog').getByLabel('Value', { exact: true });
    await field.fill('Grace');
    await field.press('Control+Enter');
    await agree(page);
    await says(page, 'name updated');
    assert.equal(await value('SELECT name FROM guests WHERE id = 6'), 'Grace');
    await beside.getByRole('gridcell', { name: 'Grace', exact: true }).waitFor();
  });

  test('a row is inserted, its statement shown before it runs', async () => {
    const page = await visit('/storage/databases/DB?table=guests&offset=99900');
    await page.getByRole('button', { name: 'Insert row' }).click();
    const form = page.getByRole('dialog');
    await form.getByLabel('name', { exact: true }).fill('the last guest');
    await form.getByText(`INSERT INTO "guests" ("name") VALUES ('the last guest')`).waitFor();
    await form.getByRole('button', { name: 'Insert row' }).click();
    await agree(page);
    await says(page, 'Row inserted');
    assert.equal(await value('SELECT max(id) FROM guests'), ROWS + 1);
    assert.equal(await value(`SELECT name FROM guests WHERE id = ${ROWS + 1}`), 'the last guest');
    await place().ask('POST', '/databases/DB/query', { sql: `DELETE FROM guests WHERE id > ${ROWS}`, params: [] });
  });

  test('a change that the database refuses says why, and the row is what it was', async () => {
    const page = await visit('/storage/databases/DB?table=guests&row=4');
    const sheet = page.getByRole('dialog');
    await sheet.getByRole('button', { name: 'Edit name' }).click();
    await sheet.getByLabel('Type').selectOption('null');
    await sheet.getByRole('button', { name: 'Run statement' }).click();
    await agree(page);
    await says(page, /NOT NULL constraint failed: guests\.name/);
    await sheet.getByRole('button', { name: 'Cancel' }).click();
    await sheet.getByText('guest 5').waitFor();
  });

  test('a query is run, and its result shown', async () => {
    const page = await visit('/storage/databases/DB?view=sql');
    await type(page, 'SQL', `SELECT count(*) AS total, 'x' AS word FROM guests`);
    await page.getByRole('button', { name: 'Run', exact: true }).click();
    const grid = page.getByRole('grid');
    await grid.getByText(String(ROWS)).waitFor();
    await grid.getByText('total').waitFor();
    await type(page, 'SQL', 'SELECT word FROM nowhere');
    await page.getByRole('button', { name: 'Run', exact: true }).click();
    await says(page, /no such table: nowhere/);
  });

  test('of a table of very many rows few are in the page, and the last ones are found', async () => {
    const page = await visit('/storage/databases/DB?table=guests&offset=99900');
    await page.getByRole('grid').getByText('guest 99901').waitFor();
    assert.ok((await page.getByRole('row').count()) < 120);
    await page.getByLabel('Column to search').selectOption('name');
    await page.getByLabel('Search rows').fill('guest 77777');
    await page.getByRole('grid').getByText('guest 77777').waitFor();
    await page.getByText('1–1 of 1').waitFor();
  });

  test('a dead letter is redriven, and delivered', async () => {
    await place().ask('PUT', '/state/KV/entry?key=antidote', { value: 'yes' });
    const page = await visit('/jobs/queues/JOBS');
    const letters = page.getByRole('table', { name: 'Dead letters' });
    await letters.getByText('"n":2').waitFor();
    const row = letters.getByRole('row').filter({ hasText: '"n":2' });
    await row.getByRole('button', { name: /^Redrive/ }).click();
    await agree(page);
    await row.waitFor({ state: 'detached' });
    await until(
      async () =>
        (
          await place()
            .ask('GET', '/state/KV/entry?key=delivered')
            .catch(() => null)
        )?.value === '2',
    );
    assert.equal(await letters.getByRole('row').count(), 3);
  });

  test('a workflow gets its event, ends, and runs again from a step', async () => {
    const page = await visit('/jobs/workflows/ORDER?run=run-1');
    const sheet = page.getByRole('dialog').first();
    await sheet.getByRole('button', { name: 'Send event' }).click();
    await type(page, 'Payload', '{"tip":2}');
    await page.getByRole('button', { name: 'Send', exact: true }).click();
    await agree(page);
    await sheet.getByText('Completed').waitFor();
    await sheet.getByRole('button', { name: /^approval/ }).click();
    await sheet.getByRole('button', { name: 'Rerun from here: approval' }).click();
    await page
      .getByRole('dialog')
      .last()
      .getByRole('button', { name: /^Rerun$/ })
      .click();
    await sheet.getByText('event approved').waitFor();
    const run = await place().ask('GET', '/workflows/ORDER/run?run=run-1');
    assert.equal(run.steps.find((step: Json) => step.name === 'price').status, 'done');
    assert.equal(run.steps.find((step: Json) => step.name === 'approval').status, 'waiting');
  });

  test('a file is uploaded and downloaded as it was', async () => {
    const page = await visit('/storage/files/FILES');
    const bytes = Buffer.from([0, 1, 2, 255, 10, 13]);
    await page.getByLabel('Files to upload').setInputFiles({
      name: `${MARKUP.slice(0, 8)} ü.bin`,
      mimeType: 'application/octet-stream',
      buffer: bytes,
    });
    await agree(page);
    const downloading = page.waitForEvent('download');
    await page.getByRole('link', { name: /^Download <img src ü\.bin/ }).click();
    const folder = mkdtempSync(join(tmpdir(), 'platform-download-'));
    try {
      // The browser keeps it where this process may not look.
      await (await downloading).saveAs(join(folder, 'file'));
      assert.deepEqual(readFileSync(join(folder, 'file')), bytes);
    } finally {
      rmSync(folder, { recursive: true, force: true });
    }
    assert.equal(await page.locator('main img').count(), 0);
  });

  test('the session of a user is ended', async () => {
    const { ask, visitApp } = place();
    const { status, text } = await visitApp('/auth/sign-in/email', { email: 'ann@example.org', password: PASSWORD });
    assert.equal(status, 200, text);
    const page = await visit('/users');
    await page.getByRole('row').filter({ hasText: 'ann@example.org' }).click();
    const sheet = page.getByRole('dialog').first();
    await sheet.getByRole('table', { name: 'Sessions' }).getByRole('button', { name: 'Sign out' }).click();
    await agree(page);
    await sheet.getByText('No active sessions').waitFor();
    const { items } = await ask('GET', '/users');
    assert.deepEqual((await ask('GET', `/users/${items[0].id}/sessions`)).items, []);
  });
}

const says = (page: Page, words: string | RegExp): Promise<void> => page.getByText(words).first().waitFor();

/** Says yes where production asks before it is changed, once a page; `platform dev` does not. */
async function agree(page: Page): Promise<void> {
  if ((await page.locator('meta[name=platform-mode]').getAttribute('content')) === 'dev') return;
  await page.getByRole('button', { name: 'Change production' }).click();
}

/** Replaces what an editor holds, by its keys. */
async function type(page: Page, label: string, text: string): Promise<void> {
  const editor = page.locator(`.cm-content[aria-label="${label}"]`);
  await editor.click();
  await page.keyboard.press('Control+a');
  await page.keyboard.insertText(text);
}
