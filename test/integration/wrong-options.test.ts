// Options that are no object, given to each call of a binding that takes options: refused, and nothing changes. Also
// what a timer would lose without a word.
import assert from 'node:assert/strict';
import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { after, before, test } from 'node:test';
import { startDevHere, type TestDev } from '#test/setup/dev.ts';

/** Calls, with the errors that they end with. */
const refused: Readonly<Record<string, string>> = {
  "KV.get('k', 5)": 'The options of get must be an object, not a number',
  "KV.put('k', 'v', 'x')": 'The options of put must be an object, not a string',
  "KV.setJSON('k', 1, 3600)": 'The options of put must be an object, not a number',
  "KV.list('prefix')": 'The options of list must be an object, not a string',
  "KV.put('k', 'v', { metadata: () => 1 })": 'The metadata must be JSON',
  "Q.send('m', 10)": 'The options of send must be an object, not a number',
  "Q.sendBatch([{ body: 'm' }], 10)": 'The options of sendBatch must be an object, not a number',
  "FS.put('f', 'x', 'text/css')": 'The options of put must be an object, not a string',
  "FS.put('f', 'x', { onlyIf: 'etag' })": 'onlyIf must be an object, not a string',
  "FS.put('f', 'x', { httpMetadata: 'text/css' })": 'httpMetadata must be an object, not a string',
  "FS.get('f', { range: 'bytes=0-1' })": 'range must be an object, not a string',
  "FS.get('f', ['x'])": 'The options of get must be an object, not an array',
  "FS.list('prefix')": 'The options of list must be an object, not a string',
  "FS.createMultipartUpload('f', 'x')": 'The options of createMultipartUpload must be an object, not a string',
  "FS.createSignedUrl('f', 60)": 'The options of createSignedUrl must be an object, not a number',
  "W.create('input')": 'The options of create must be an object, not a string',
  "W.trigger({}, 'id')": 'The options of trigger must be an object, not a string',
  "W.list('running')": 'The options of list must be an object, not a string',
  "W.sendEvent('run', 'go')": 'The event must be an object, not a string',
  "T.list('prefix')": 'The options of list must be an object, not a string',
  "T.set('t', { afterMs: 1, seconds: 2 })": 'The time does not take "seconds": it takes afterMs',
  "T.set('t', { afterMs: 1 }, { intervalMs: 5000, note: 'x' })":
    'set does not take "note": it takes payload, intervalMs, cron, timezone',
  "T.set('t', { afterMs: 1 }, { payload: () => 1 })": 'The payload must be JSON',
  "C.set('k', 'v', 60)": 'The options of set must be an object, not a number',
  "PLATFORM_AUTH.createUser('ada@example.org')": 'The user must be an object, not a string',
  'PLATFORM_AUTH.listUsers(10)': 'The options of listUsers must be an object, not a number',
  "AI.run('auto', { prompt: 'hi' }, 'x')": 'The options of run must be an object, not a string',
  "DB.prepare('SELECT 1').raw(true)": 'The options of raw must be an object, not a boolean',
};

const calls = Object.keys(refused);
const worker = `
const calls = [${calls.map((call) => `({ KV, Q, FS, W, T, C, DB, AI, PLATFORM_AUTH }) => ${call}`).join(',\n')}];
export default {
  async fetch(request, env) {
    if (new URL(request.url).pathname === '/retry') {
      await env.Q.send('m');
      for (;;) {
        const said = await env.KV.get('retry');
        if (said !== null) return new Response(said);
        await new Promise((resolve) => setTimeout(resolve, 50));
      }
    }
    const outcomes = await Promise.all(calls.map(async (call) => {
      try {
        await call(env);
        return 'accepted';
      } catch (error) {
        return error.name + ' ' + error.code + ': ' + error.message;
      }
    }));
    const { keys } = await env.KV.list();
    const { objects } = await env.FS.list();
    const { timers } = await env.T.list();
    const { executions } = await env.W.list();
    return Response.json({ outcomes, left: [keys, objects, timers, executions].map(({ length }) => length) });
  },
  async message(event, { KV }) {
    try {
      event.retry(10);
    } catch (error) {
      await KV.put('retry', error.name + ' ' + error.code + ': ' + error.message);
    }
  },
  workflows: { runs: () => null },
};
`;

let folder: string;
let dev: TestDev;
before(async () => {
  folder = mkdtempSync(path.join(tmpdir(), 'platform-wrong-options-'));
  mkdirSync(path.join(folder, 'src'));
  mkdirSync(path.join(folder, '.git'));
  writeFileSync(path.join(folder, '.git/HEAD'), 'ref: refs/heads/main\n');
  writeFileSync(path.join(folder, 'src/index.js'), worker);
  writeFileSync(
    path.join(folder, 'platform.yaml'),
    'state: { KV: kept }\nfs: { FS: files }\nqueue: { Q: mail }\nworkflow: { W: runs }\ntimer: { T: timers }\n' +
      'cache: { C: pages }\ndb: { DB: main }\nauth: { binding: PLATFORM_AUTH }\nai: true\n',
  );
  dev = await startDevHere(folder);
});
after(async () => {
  await dev.close();
  rmSync(folder, { recursive: true, force: true });
});

test('options of another type are refused by every binding, and nothing changes', async () => {
  const response = await dev.fetch('/');
  const { outcomes, left } = response.json() as { outcomes: string[]; left: number[] };
  assert.deepEqual(
    Object.fromEntries(calls.map((call, index) => [call, outcomes[index]])),
    Object.fromEntries(calls.map((call) => [call, `TypeError invalid_argument: ${refused[call]}`])),
  );
  assert.deepEqual(left, [0, 0, 0, 0]);
});

test('a message that is retried with a number as options says so', async () => {
  const { text } = await dev.fetch('/retry');
  assert.equal(text, 'TypeError invalid_argument: The options of retry must be an object, not a number');
});
