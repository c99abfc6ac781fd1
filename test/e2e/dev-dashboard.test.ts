// The dashboard's page in a real browser, used as a person does: every view, and what can be done in it, against a real
// `platform dev`.
import assert from 'node:assert/strict';
import { rm, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { after, before, test } from 'node:test';
import { chromium, openBrowser, type BrowserPage } from '#test/setup/browser.ts';
import { configuration, createDashboardProject } from '#test/setup/dashboard-project.ts';
import { startDev, type TestDev } from '#test/setup/dev.ts';
import { send } from '#test/setup/handler.ts';

const worker = `
export default {
  async fetch(request, env) {
    const { pathname } = new URL(request.url);
    console.log('<b>asked</b> for ' + pathname);
    if (pathname === '/throw') throw new Error('on purpose');
    return new Response('ok', { status: pathname === '/teapot' ? 418 : 200 });
  },
  async message(event, env) {
    if (event.payload.poison && (await env.KV.get('antidote')) === null) throw new Error('poisoned');
    console.log('message ' + event.payload.n);
  },
  async scheduled() { console.log('cron ran'); },
  async timer(event) { console.log('timer ' + event.id); },
  workflows: {
    order: {
      async handler({ step, input }) {
        const price = await step.run('price', () => input.price);
        const { payload } = await step.waitForEvent('approval', { type: 'approved' });
        return step.run('total', () => price + payload.tip);
      },
    },
  },
};`;

const skip = chromium === null ? 'Chromium is not installed' : false;
let folder: string;
let dev: TestDev;
let page: BrowserPage;
let url: string;

before(async () => {
  if (chromium === null) return;
  folder = await createDashboardProject({
    'src/index.ts': worker,
    'migrations/0001_guests.sql': 'CREATE TABLE guests (id INTEGER PRIMARY KEY, name TEXT);',
  });
  Object.assign(process.env, { DELIVERY_RETRIES: '1', DELIVERY_BACKOFF_MS: '1', DELIVERY_BACKOFF_MS_MAX: '1' });
  dev = await startDev(folder);
  [, url] = (await dev.printed(/Dashboard (http:\/\/127\.0\.0\.1:\d+)/)) as unknown as [string, string];
  page = await openBrowser(chromium);
  await page.open(url);
});
after(async () => {
  if (chromium === null) return;
  await page.close();
  await dev.close();
  await rm(folder, { recursive: true, force: true });
});

const shows = (text: string, inside = 'main'): Promise<void> =>
  page.until(`document.querySelector(${JSON.stringify(inside)})?.innerText.includes(${JSON.stringify(text)})`);
const lacks = (text: string): Promise<void> =>
  page.until(`!document.querySelector('main').innerText.includes(${JSON.stringify(text)})`);
const go = async (link: string, heading: string): Promise<void> => {
  await page.press(link, 'nav');
  await page.until(`document.querySelector('main > h2')?.textContent === ${JSON.stringify(heading)}`);
};

test('requests appear while they come, with status and times, and can be narrowed', { skip }, async () => {
  await shows('No request has come yet');
  await dev.fetch('/first');
  await dev.fetch('/teapot');
  await dev.fetch('/throw');
  await shows('/throw');
  const rows = await page.evaluate<string[][]>(
    `[...document.querySelectorAll('tbody tr')].map((row) => [...row.cells].map((cell) => cell.innerText))`,
  );
  assert.deepEqual(
    rows.map(([, method, path, status, code]) => [method, path, status, code]),
    [
      ['GET', '/throw', '500', 'worker_threw'],
      ['GET', '/teapot', '418', ''],
      ['GET', '/first', '200', ''],
    ],
  );
  for (const [, , , , , cpu, wall] of rows) for (const time of [cpu, wall]) assert.match(time!, /^\d+(\.\d)? ms$/);
  await page.type('filter', 'teapot');
  await lacks('/first');
});

test('log lines are text, whatever is in them', { skip }, async () => {
  await go('Logs', 'Logs');
  await shows('<b>asked</b> for /first');
  await shows('on purpose');
  assert.equal(await page.evaluate(`document.querySelectorAll('main b').length`), 0);
});

test('a table is shown and queried, and a mistake in SQL is told', { skip }, async () => {
  await go('DB', 'Databases: DB');
  await shows('No rows');
  await page.type('sql', `INSERT INTO guests (name) VALUES ('<img src=x onerror=alert(1)>'), ('ann')`);
  await page.press('Run');
  await shows('2 changes');
  await shows('<img src=x onerror=alert(1)>');
  await shows('1 to 2 of 2');
  await page.type('sql', 'SELECT * FROM nobody');
  await page.press('Run');
  await shows('no such table: nobody');
});

test(
  'a message that fails becomes a dead letter, which is redriven once the worker can take it',
  { skip },
  async () => {
    await go('JOBS', 'Queues: JOBS');
    await page.press('Send a message');
    await page.type('payload', '{"poison": true, "n": 7}');
    await page.press('Send', 'dialog');
    await shows('poisoned');
    await page.press('Send a message');
    await page.type('payload', '{"n": ');
    await page.press('Send', 'dialog');
    await shows('The payload is no JSON', 'dialog');
    await page.press('Cancel', 'dialog');
    await go('KV', 'State: KV');
    await page.press('Add an entry');
    await page.type('key', 'antidote');
    await page.type('value', 'taken');
    await page.press('Add', 'dialog');
    await shows('antidote');
    await go('JOBS', 'Queues: JOBS');
    await page.press('Redrive all');
    await dev.printed(/message 7/);
    await shows('No dead letters');
  },
);

test('a long list comes a page at a time, there and back', { skip }, async () => {
  const at = new URL(url);
  const put = (name: string): Promise<unknown> =>
    send(Number(at.port), at.host, `/api/state/KV/entries/${name}`, {
      method: 'PUT',
      body: '{"value":"x"}',
      headers: { 'content-type': 'application/json' },
    });
  const names = Array.from({ length: 205 }, (_, index) => `many-${String(index).padStart(3, '0')}`);
  for (const name of names) await put(name);
  await go('KV', 'State: KV');
  await page.type('prefix', 'many-');
  await shows('many-199');
  await lacks('many-200');
  await page.press('Next entries');
  await shows('many-204');
  await shows('Page 2');
  await lacks('many-000');
  await page.press('Previous entries');
  await shows('many-000');
  await page.press('Next entries');
  await shows('Page 2');
  // Another list begins at its beginning.
  await page.type('prefix', 'many-00');
  await shows('many-009');
  await lacks('Page');
  for (const name of names) await send(Number(at.port), at.host, `/api/state/KV/entries/${name}`, { method: 'DELETE' });
  await page.type('prefix', '');
  await shows('antidote');
});

test('an entry is edited, and deleted after a question', { skip }, async () => {
  await go('KV', 'State: KV');
  await page.press('Edit antidote');
  await page.until(`document.querySelector('dialog textarea')?.value === 'taken'`);
  await page.type('value', 'changed');
  await page.type('metadata', '{"by":"me"}');
  await page.press('Save', 'dialog');
  await shows('"by": "me"');
  await page.press('Delete antidote');
  await page.press('Delete', 'dialog');
  await shows('No entries');
});

test('a run is started, followed step by step, sent its event, and run again from a step', { skip }, async () => {
  await go('ORDER', 'Workflows: ORDER');
  await page.press('Start a run');
  await page.type('input', '{"price": 40}');
  await page.press('Start', 'dialog');
  await shows('waits for the event "approved"');
  await page.press('Send an event');
  assert.equal(await page.evaluate(`document.querySelector('dialog [name=type]').value`), 'approved');
  await page.type('payload', '{"tip": 2}');
  await page.press('Send', 'dialog');
  await page.until(`document.querySelectorAll('.timeline li').length === 3`);
  await shows('completed');
  await shows('42');
  await page.press('Run again from here approval');
  await page.press('Run again', 'dialog');
  await page.until(`document.querySelectorAll('.timeline li').length === 2`);
  await page.press('Cancel');
  await page.press('Cancel the run', 'dialog');
  await shows('cancelled');
});

test('files are uploaded, found in their folder, and deleted', { skip }, async () => {
  await go('FILES', 'Files: FILES');
  await shows('No files here');
  const choose = `(() => {
    const files = new DataTransfer();
    files.items.add(new File(['hello'], 'a b.txt', { type: 'text/plain' }));
    const input = document.querySelector('[name=file]');
    input.files = files.files;
    input.dispatchEvent(new Event('change'));
  })()`;
  await page.evaluate(choose);
  await shows('a b.txt');
  const port = Number(new URL(url).port);
  await send(port, `127.0.0.1:${port}`, '/api/fs/FILES/entries/docs%2Fdeep%2Fc.txt', { method: 'PUT', body: 'c' });
  await page.press('docs/ folder');
  await page.press('deep/ folder');
  await shows('c.txt');
  assert.equal(
    await page.evaluate(`fetch(document.querySelector('main td a').href).then((answer) => answer.text())`),
    'c',
  );
  await page.press('All files');
  await page.press('Delete a b.txt');
  await page.press('Delete', 'dialog');
  await lacks('a b.txt');
});

test('timers and schedules are run now', { skip }, async () => {
  await go('TIMER', 'Timers: TIMER');
  await page.press('Set a timer');
  await page.type('id', 'egg');
  await page.type('after', '86400');
  await page.press('Set', 'dialog');
  await page.press('Run now egg');
  await dev.printed(/timer egg/);
  await shows('No timer is set');
  await go('Schedules', 'Schedules');
  await shows('0 3 1 1 * UTC');
  await page.press('Run now NIGHTLY');
  await dev.printed(/cron ran/);
  await shows('ok');
});

test('users are created and deleted', { skip }, async () => {
  await go('PLATFORM_AUTH', 'Users: PLATFORM_AUTH');
  await shows('Nobody has signed up yet');
  await page.press('Create a user');
  await page.type('email', 'ann@example.org');
  await page.type('password', 'long enough');
  await page.press('Create', 'dialog');
  await shows('ann@example.org');
  await page.press('Delete ann@example.org');
  await page.press('Delete', 'dialog');
  await shows('Nobody has signed up yet');
});

test(
  'the configuration is shown anew when platform.yaml is saved, and its new binding can be called',
  { skip },
  async () => {
    await go('Configuration', 'Configuration');
    await shows('PLATFORM_MOCK_SERVER_URL');
    await writeFile(
      join(folder, 'platform.yaml'),
      `${configuration}\n`.replace('KV: kv', 'KV: kv, SESSIONS: sessions'),
    );
    await page.until(`[...document.querySelectorAll('nav a')].some((link) => link.textContent === 'SESSIONS')`);
    await shows('sessions');
    const port = Number(new URL(url).port);
    const call = {
      method: 'POST',
      body: '{"binding":"SESSIONS","method":"get","args":["x"]}',
      headers: { 'content-type': 'application/json' },
    };
    assert.deepEqual((await send(port, `127.0.0.1:${port}`, '/rpc', call)).json(), { result: null });
  },
);

test(
  'every control has a name, in light and in dark text stands out, and nothing is asked of elsewhere',
  { skip },
  async () => {
    for (const link of ['Requests', 'DB', 'JOBS', 'ORDER', 'KV', 'FILES', 'TIMER']) {
      await page.press(link, 'nav');
      await page.until(`document.querySelector('[aria-current]')?.textContent === ${JSON.stringify(link)}`);
      const nameless = `[...document.querySelectorAll('button, a, input, select, textarea')].filter((one) =>
      !(one.textContent.trim() || one.ariaLabel || one.labels?.[0]?.textContent || one.closest('label'))).length`;
      assert.equal(await page.evaluate(nameless), 0, link);
    }
    const grounds: string[] = [];
    for (const scheme of ['light', 'dark'] as const) {
      await page.prefer(scheme);
      const { ink, ground } = await page.evaluate<{ ink: string; ground: string }>(
        `(({ color, backgroundColor }) => ({ ink: color, ground: backgroundColor }))(getComputedStyle(document.documentElement))`,
      );
      grounds.push(ground);
      assert.ok(contrast(ink, ground) >= 7, `${scheme}: ${ink} on ${ground}`);
    }
    assert.notEqual(grounds[0], grounds[1]);
    assert.deepEqual([...new Set(page.requested.map((address) => new URL(address).origin))], [url]);
    // What the API refused on purpose above, and nothing else.
    assert.deepEqual(
      page.complaints.filter((text) => !/status of 400/.test(text)),
      [],
    );
  },
);

/** Of two colours, as WCAG reckons it. */
function contrast(one: string, other: string): number {
  const [light, dark] = [luminance(one), luminance(other)].toSorted((a, b) => b - a) as [number, number];
  return (light + 0.05) / (dark + 0.05);
}

function luminance(color: string): number {
  const [red, green, blue] = (color.match(/\d+/g) as string[]).map((part) => {
    const value = Number(part) / 255;
    return value <= 0.04045 ? value / 12.92 : ((value + 0.055) / 1.055) ** 2.4;
  }) as [number, number, number];
  return 0.2126 * red + 0.7152 * green + 0.0722 * blue;
}
