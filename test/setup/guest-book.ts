// examples/guest-book asked end to end, wherever it is served: users, entries, pictures, letters by the queue, a
// workflow whose sleep outlives a restart, a bin with timers, a schedule. Used by the tests of `platform dev` and of
// the platform.
import assert from 'node:assert/strict';
import { cp, mkdtemp, readFile, rm, symlink, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { test } from 'node:test';
import type { TestRequest, TestResponse } from './handler.ts';
import { until } from './until.ts';

const root = join(import.meta.dirname, '../..');

/** Variables of the project: a day's sleep would be long. */
export const guestBookVariables = { FOLLOW_UP_MS: '2000', HOST_EMAIL: 'host@example.org' };

/** A copy of the example, whose night comes every second. What it keeps lies in its folder. */
export async function copyGuestBook(): Promise<{ folder: string; remove(): Promise<void> }> {
  const folder = await mkdtemp(join(tmpdir(), 'guest-book-'));
  await cp(join(root, 'examples/guest-book'), folder, {
    recursive: true,
    filter: (path) => !/[/\\](?:\.platform|node_modules)$/.test(path),
  });
  await symlink(join(root, 'node_modules'), join(folder, 'node_modules'));
  const yaml = await readFile(join(folder, 'platform.yaml'), 'utf8');
  await writeFile(join(folder, 'platform.yaml'), yaml.replace("'0 3 * * *'", "'* * * * * *'"));
  return { folder, remove: () => rm(folder, { recursive: true, force: true }) };
}

/** Where it is served. */
interface GuestBookHost {
  readonly origin: string;
  fetch(path: string, options?: TestRequest): Promise<TestResponse>;
  /** Resolves when the worker has logged a match. */
  logged(pattern: RegExp): Promise<unknown>;
  /** Ends what serves it, and has it served again. */
  restart(): Promise<void>;
}

interface Entry {
  id: number;
  author: string;
  text: string;
  picture: string | null;
  mine: boolean;
}

interface Guest {
  ask(method: string, path: string, body?: unknown): Promise<TestResponse>;
  entries(): Promise<Entry[]>;
  /** Subjects of the letters, once there are so many. */
  letters(count: number): Promise<string[]>;
}

/** Registers the tests. */
export function guestBookStory(host: () => GuestBookHost): void {
  /** A guest's browser: keeps the cookies. */
  function guest(): Guest {
    let cookie = '';
    const ask: Guest['ask'] = async (method, path, body) => {
      const headers = {
        cookie,
        origin: host().origin,
        ...(body !== undefined && { 'content-type': 'application/json' }),
      };
      const response = await host().fetch(path, {
        method,
        headers,
        ...(body !== undefined && { body: JSON.stringify(body) }),
      });
      const set = [response.headers['set-cookie'] ?? []].flat().map((line) => line.split(';')[0]);
      if (set.length > 0) cookie = set.join('; ');
      return response;
    };
    return {
      ask,
      async entries() {
        const response = await ask('GET', '/api/entries');
        assert.equal(response.status, 200, response.text);
        return (response.json() as { entries: Entry[] }).entries;
      },
      async letters(count) {
        return until(async () => {
          const { mails } = (await ask('GET', '/api/mails')).json() as { mails: { subject: string }[] };
          return mails.length >= count && mails.map(({ subject }) => subject);
        });
      },
    };
  }

  const [ada, bob, owner] = [guest(), guest(), guest()];

  test('the page and the description of the API are served', async () => {
    const page = await host().fetch('/');
    assert.deepEqual([page.status, page.headers['content-type']], [200, 'text/html; charset=utf-8']);
    const description = (await host().fetch('/api/openapi.json')).json() as { paths: Record<string, object> };
    assert.deepEqual(Object.keys(description.paths).sort(), [
      '/api/entries',
      '/api/entries/{id}',
      '/api/entries/{id}/picture',
      '/api/entries/{id}/restore',
      '/api/mails',
    ]);
  });

  test('who has not signed in may read and nothing else', async () => {
    assert.deepEqual(await guest().entries(), []);
    assert.equal((await guest().ask('POST', '/api/entries', { text: 'x' })).status, 401);
    assert.equal((await guest().ask('GET', '/api/mails')).status, 401);
  });

  test('guests sign up and write; a letter goes to the host and one to the guest', async () => {
    for (const [browser, name] of [
      [ada, 'Ada'],
      [bob, 'Bob'],
      [owner, 'Host'],
    ] as const) {
      const answer = await browser.ask('POST', '/auth/signup', {
        email: `${name.toLowerCase()}@example.org`,
        password: 'correct horse',
        name,
      });
      assert.equal(answer.status, 200, answer.text);
    }
    const written = await ada.ask('POST', '/api/entries', { text: 'What a place!' });
    assert.equal(written.status, 201, written.text);
    assert.equal((await ada.ask('POST', '/api/entries', { text: '  ' })).status, 400);
    const [entry] = await bob.entries();
    assert.deepEqual([entry?.author, entry?.text, entry?.mine, entry?.picture], ['Ada', 'What a place!', false, null]);
    assert.equal((await ada.entries())[0]?.mine, true);
    assert.deepEqual(await owner.letters(1), ['Ada was here']);
    assert.equal((await ada.letters(1))[0], 'Thank you');
  });

  test('a workflow that sleeps goes on after a restart, with what it had done', async () => {
    await host().restart();
    assert.deepEqual(await ada.letters(2), ['Thank you', 'Come again']);
    assert.match((await ada.ask('GET', '/api/mails')).text, /The book has 1 of your entries/);
    assert.deepEqual(await bob.letters(0), []);
  });

  test('a second entry of a guest starts no second run', async () => {
    assert.equal((await ada.ask('POST', '/api/entries', { text: 'Again.' })).status, 201);
    assert.deepEqual(await owner.letters(2), ['Ada was here', 'Ada was here']);
    assert.deepEqual(await ada.letters(2), ['Thank you', 'Come again']);
  });

  test('a picture goes to the store and back by signed addresses', async () => {
    const { id } = (await bob.ask('POST', '/api/entries', { text: 'Look:' })).json() as Entry;
    const address = async (): Promise<string> => {
      const { uploadTo } = (await bob.ask('POST', `/api/entries/${id}/picture`)).json() as { uploadTo: string };
      return new URL(uploadTo).pathname;
    };
    assert.equal((await bob.ask('PUT', `/api/entries/${id}/picture`)).status, 409);
    await host().fetch(await address(), { method: 'PUT', body: '<p>', headers: { 'content-type': 'text/html' } });
    assert.equal((await bob.ask('PUT', `/api/entries/${id}/picture`)).status, 415);
    const picture = Buffer.from('89504e470d0a1a0a', 'hex');
    const sent = await host().fetch(await address(), {
      method: 'PUT',
      body: picture,
      headers: { 'content-type': 'image/png' },
    });
    assert.equal(sent.status, 200, sent.text);
    const shown = (await bob.ask('PUT', `/api/entries/${id}/picture`)).json() as Entry;
    const seen = await host().fetch(new URL(String(shown.picture)).pathname);
    assert.deepEqual([seen.headers['content-type'], seen.body.equals(picture)], ['image/png', true]);
    assert.equal((await ada.ask('POST', `/api/entries/${id}/picture`)).status, 404);
  });

  test('a deleted entry lies in the bin, from where it comes back', async () => {
    const [entry] = await bob.entries();
    const path = `/api/entries/${entry?.id}`;
    assert.equal((await ada.ask('DELETE', path)).status, 404);
    assert.equal((await bob.ask('DELETE', path)).status, 204);
    assert.equal((await bob.entries()).length, 2);
    assert.equal((await bob.ask('DELETE', path)).status, 404);
    assert.equal((await bob.ask('POST', `${path}/restore`)).status, 200);
    assert.equal((await bob.entries()).length, 3);
  });

  test('the nightly schedule counts entries and guests', async () => {
    await host().logged(/Nightly: 3 entries by 2 guests, 0 stray pictures removed/);
  });
}
