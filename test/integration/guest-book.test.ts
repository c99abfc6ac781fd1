// examples/guest-book in `platform dev`, end to end: users, entries, pictures, letters by the queue, a workflow whose sleep outlives a
// restart, a bin with timers, a schedule. A copy of it: what it keeps lies in its folder.
import assert from 'node:assert/strict';
import { cp, mkdtemp, readFile, rm, symlink, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { after, before, test } from 'node:test';
import { startDev, type TestDev } from '#test/setup/dev.ts';
import type { TestResponse } from '#test/setup/handler.ts';

const root = join(import.meta.dirname, '../..');
let folder: string;
let dev: TestDev;

before(async () => {
  folder = await mkdtemp(join(tmpdir(), 'guest-book-'));
  await cp(join(root, 'examples/guest-book'), folder, {
    recursive: true,
    filter: (path) => !/[/\\](?:\.platform|node_modules)$/.test(path),
  });
  await symlink(join(root, 'node_modules'), join(folder, 'node_modules'));
  // A day's sleep and a night's wait would be long.
  await writeFile(join(folder, '.env'), 'FOLLOW_UP_MS=6000\nHOST_EMAIL=host@example.org\n');
  const yaml = await readFile(join(folder, 'platform.yaml'), 'utf8');
  await writeFile(join(folder, 'platform.yaml'), yaml.replace("'0 3 * * *'", "'* * * * * *'"));
  dev = await startDev(folder);
});
after(async () => {
  await dev.close();
  await rm(folder, { recursive: true, force: true });
});

/** A guest's browser: keeps the cookie. */
function guest(): { cookie: string; ask(method: string, path: string, body?: unknown): Promise<TestResponse> } {
  const browser = {
    cookie: '',
    async ask(method: string, path: string, body?: unknown): Promise<TestResponse> {
      const headers = {
        cookie: browser.cookie,
        origin: `http://localhost:${dev.port}`,
        ...(body !== undefined && { 'content-type': 'application/json' }),
      };
      const response = await dev.fetch(path, { method, headers, ...(body !== undefined && { body: JSON.stringify(body) }) });
      const set = [response.headers['set-cookie'] ?? []].flat().map((line) => line.split(';')[0]);
      if (set.length > 0) browser.cookie = set.join('; ');
      return response;
    },
  };
  return browser;
}

const ada = guest();
const bob = guest();

interface Entry {
  id: number;
  author: string;
  text: string;
  picture: string | null;
  mine: boolean;
}

async function entries(browser = bob): Promise<Entry[]> {
  const response = await browser.ask('GET', '/api/entries');
  assert.equal(response.status, 200, response.text + dev.output);
  return (response.json() as { entries: Entry[] }).entries;
}

test('the page and the description of the API are served', async () => {
  const page = await dev.fetch('/');
  assert.deepEqual([page.status, page.headers['content-type']], [200, 'text/html; charset=utf-8']);
  const description = (await dev.fetch('/api/openapi.json')).json() as { paths: Record<string, object> };
  assert.deepEqual(Object.keys(description.paths).sort(), [
    '/api/entries',
    '/api/entries/{id}',
    '/api/entries/{id}/picture',
    '/api/entries/{id}/restore',
    '/api/mails',
  ]);
});

test('who has not signed in may read and nothing else', async () => {
  assert.deepEqual(await entries(guest()), []);
  assert.equal((await guest().ask('POST', '/api/entries', { text: 'x' })).status, 401);
  assert.equal((await guest().ask('GET', '/api/mails')).status, 401);
});

test('guests sign up and write; a letter goes to the host and one to the guest', async () => {
  for (const [browser, name] of [
    [ada, 'Ada'],
    [bob, 'Bob'],
  ] as const) {
    const answer = await browser.ask('POST', '/auth/signup', {
      email: `${name.toLowerCase()}@example.org`,
      password: 'correct horse',
      name,
    });
    assert.equal(answer.status, 200, answer.text);
  }
  const written = await ada.ask('POST', '/api/entries', { text: 'What a place!' });
  assert.equal(written.status, 201, written.text + dev.output);
  assert.equal((await ada.ask('POST', '/api/entries', { text: '  ' })).status, 400);
  const [entry] = await entries();
  assert.deepEqual([entry?.author, entry?.text, entry?.mine, entry?.picture], ['Ada', 'What a place!', false, null]);
  assert.equal((await entries(ada))[0]?.mine, true);
  await dev.printed(/Mail to host@example\.org: Ada was here/);
  await dev.printed(/Mail to ada@example\.org: Thank you/);
});

test('a workflow that sleeps goes on after a restart, with what it had done', async () => {
  await dev.close();
  assert.doesNotMatch(dev.output, /Come again/);
  dev = await startDev(folder);
  await dev.printed(/Mail to ada@example\.org: Come again/);
  assert.doesNotMatch(dev.output, /Thank you/);
  const letters = (await ada.ask('GET', '/api/mails')).json();
  assert.deepEqual(letters, {
    mails: [
      { subject: 'Thank you', text: 'It was good to have you here, Ada.' },
      { subject: 'Come again', text: 'The book has 1 of your entries. Room for more!' },
    ],
  });
  assert.deepEqual((await bob.ask('GET', '/api/mails')).json(), { mails: [] });
});

test('a second entry of a guest starts no second run', async () => {
  assert.equal((await ada.ask('POST', '/api/entries', { text: 'Again.' })).status, 201);
  await dev.printed(/Mail to host@example\.org: Ada was here/);
  assert.doesNotMatch(dev.output, /Thank you/);
});

test('a picture goes to the store and back by signed addresses', async () => {
  const { id } = (await bob.ask('POST', '/api/entries', { text: 'Look:' })).json() as Entry;
  const address = async (): Promise<string> => {
    const { uploadTo } = (await bob.ask('POST', `/api/entries/${id}/picture`)).json() as { uploadTo: string };
    return new URL(uploadTo).pathname;
  };
  assert.equal((await bob.ask('PUT', `/api/entries/${id}/picture`)).status, 409);
  await dev.fetch(await address(), { method: 'PUT', body: '<p>', headers: { 'content-type': 'text/html' } });
  assert.equal((await bob.ask('PUT', `/api/entries/${id}/picture`)).status, 415);
  const picture = Buffer.from('89504e470d0a1a0a', 'hex');
  const sent = await dev.fetch(await address(), { method: 'PUT', body: picture, headers: { 'content-type': 'image/png' } });
  assert.equal(sent.status, 200, sent.text);
  const shown = (await bob.ask('PUT', `/api/entries/${id}/picture`)).json() as Entry;
  const seen = await dev.fetch(new URL(String(shown.picture)).pathname);
  assert.deepEqual([seen.headers['content-type'], seen.body.equals(picture)], ['image/png', true]);
  assert.equal((await ada.ask('POST', `/api/entries/${id}/picture`)).status, 404);
});

test('a deleted entry lies in the bin, from where it comes back', async () => {
  const [entry] = await entries();
  const path = `/api/entries/${entry?.id}`;
  assert.equal((await ada.ask('DELETE', path)).status, 404);
  assert.equal((await bob.ask('DELETE', path)).status, 204);
  assert.equal((await entries()).length, 2);
  assert.equal((await bob.ask('DELETE', path)).status, 404);
  assert.equal((await bob.ask('POST', `${path}/restore`)).status, 200);
  assert.equal((await entries()).length, 3);
});

test('the nightly schedule counts entries and guests', async () => {
  await dev.printed(/Nightly: 3 entries by 2 guests, 0 stray pictures removed/);
});
