// Postgres with a standby: the primary is killed under load, the standby is promoted, and a platform whose
// DATABASE_URL names both goes on. Prints how long each part needed.
import assert from 'node:assert/strict';
import { createHash } from 'node:crypto';
import { execFile } from 'node:child_process';
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { after, before, test } from 'node:test';
import { promisify } from 'node:util';
import { openListener } from '#postgres/listener.ts';
import { openPostgres } from '#postgres/connection.ts';
import { openSql } from '#postgres/sql.ts';
import { startReplicatedPostgres, type ReplicatedPostgres } from '#test/setup/standby.ts';
import { send } from '#test/setup/send.ts';
import { startUploadingApi, type UploadingApi } from '#test/setup/uploading-api.ts';
import { until } from '#test/setup/until.ts';

const run = promisify(execFile);
const root = mkdtempSync(path.join(tmpdir(), 'platform-standby-'));
const secret = (use: string): string => createHash('sha256').update(use).digest('hex');

let servers: ReplicatedPostgres;
let api: UploadingApi;
let shop: string;

const yaml = 'queue: { JOBS: jobs }\nstate: { KV: ledger }\n';
const worker = `
export default {
  async fetch(request, env) {
    const { pathname, searchParams } = new URL(request.url);
    const id = searchParams.get('id');
    if (pathname === '/state') await env.KV.put('key ' + id, id);
    else if (pathname === '/queue') await env.JOBS.send(id);
    else if (pathname === '/read') return new Response(String(await env.KV.get(searchParams.get('key'))));
    return new Response('ok');
  },
  message: (event, env) => env.KV.put('came ' + event.payload, event.payload),
};`;

const ask = async (at: string): Promise<string | null> => {
  const answer = await send(api.handlerPort(), 'shop.localhost', at).catch(() => null);
  return answer?.status === 200 ? answer.text : null;
};

before(async () => {
  servers = await startReplicatedPostgres();
  api = await startUploadingApi(root, {
    FS_PATH: path.join(root, 'data'),
    DATABASE_URL: servers.url,
    AUTH_SECRET: secret('auth'),
    ENCRYPTION_KEY: secret('encryption'),
    API_PORT: '0',
    HANDLER_PORT: '0',
    HANDLER_PRIVATE_PORT: '0',
    HANDLER_PROCESSES: '1',
    PRIVATE_PORT_TOKEN: secret('private port'),
  });
  shop = await api.createProject('shop');
  await api.deploy(shop, 'main', worker, yaml);
});

after(async () => {
  await (api as UploadingApi | undefined)?.stop();
  await (servers as ReplicatedPostgres | undefined)?.stop();
  rmSync(root, { recursive: true, force: true });
});

test('a platform loses nothing that was acknowledged when its primary is gone, and works with the standby', async (t) => {
  const options = { url: servers.url, name: 'test' };
  const [pool, sql] = [openPostgres(options), openSql(options)];
  const heard: string[] = [];
  const listener = await openListener(options, 'news', (payload) => heard.push(`pg ${payload}`));
  t.after(() => Promise.all([pool.close(), sql.end({ timeout: 1 }), listener.close()]));
  await sql.listen('news', (payload) => heard.push(`postgres ${payload}`));

  const taken: string[] = [];
  let isLoading = true;
  let count = 0;
  const load = async (kind: string): Promise<void> => {
    while (isLoading) {
      const id = `${kind}-${++count}`;
      if ((await ask(`/${kind}?id=${id}`)) === 'ok') taken.push(id);
      else await until(async () => !isLoading || (await ask('/')) !== null);
    }
  };
  t.after(() => (isLoading = false));
  const loading = ['state', 'queue', 'state', 'queue'].map(load);
  await until(() => taken.length > 100);
  await servers.killPrimary();
  await until(() =>
    pool.all('SELECT 1').then(
      () => null,
      (error: { code: string }) => error.code === 'CONNECTION_NO_PRIMARY',
    ),
  );
  await assert.rejects(sql`SELECT 1`);
  assert.equal(await ask('/'), 'ok');
  const before = taken.length;

  const began = performance.now();
  await servers.promote();
  const since = async (what: string, done: Promise<unknown>): Promise<void> => {
    await done;
    t.diagnostic(`${what}: ${Math.round(performance.now() - began)} ms after the promotion was asked for`);
  };
  await Promise.all([
    since(
      'a pool of engines',
      until(() => pool.all('SELECT 1').catch(() => null)),
    ),
    since(
      'a pool of the API',
      until(() => sql`SELECT 1`.catch(() => null)),
    ),
    since(
      'LISTEN of both',
      until(async () => {
        await pool.all(`NOTIFY news, 'x'`).catch(() => null);
        return heard.includes('pg x') && heard.includes('postgres x');
      }),
    ),
    since(
      'state',
      until(() => ask('/state?id=after')),
    ),
    since(
      'queue, sent',
      until(() => ask('/queue?id=after')),
    ),
    since(
      'queue, delivered',
      until(async () => (await ask('/read?key=came%20after')) === 'after'),
    ),
    since(
      'the API',
      until(() => api.call('GET', '/user').catch(() => null)),
    ),
    since(
      'an upload that is deployed',
      until(() =>
        api
          .deploy(shop, 'next', `export default { fetch: () => new Response('next') };`)
          .catch((error: Error) => (/: 5\d\d |fetch failed/.test(error.message) ? null : Promise.reject(error))),
      ),
    ),
  ]);
  await until(() => taken.length > before + 100);
  isLoading = false;
  await Promise.all(loading);
  const keyOf = (id: string): string => encodeURIComponent(`${id.startsWith('state') ? 'key' : 'came'} ${id}`);
  // A message that was taken comes, however late; state must be there.
  const lost: string[] = [];
  for (const id of taken) {
    if (id.startsWith('queue')) await until(async () => (await ask(`/read?key=${keyOf(id)}`)) === id);
    else if ((await until(() => ask(`/read?key=${keyOf(id)}`))) !== id) lost.push(id);
  }
  t.diagnostic(`${taken.length} writes and messages were acknowledged, ${lost.length} are lost`);
  assert.deepEqual(lost, []);
});

test('an old primary that comes back without a fence is left alone', async () => {
  await servers.restartPrimary();
  // A process that has seen neither: the one with the later history is taken.
  const { stdout } = await run(
    process.execPath,
    [
      '--input-type=module',
      '--eval',
      `const { openPostgres } = await import('#postgres/connection.ts');
const pool = openPostgres({ url: process.env.URL_OF_BOTH, name: 'test' });
console.log(JSON.stringify(await pool.all('SELECT inet_server_port() AS port')));
await pool.close();`,
    ],
    { env: { ...process.env, URL_OF_BOTH: servers.url }, cwd: path.join(import.meta.dirname, '../..') },
  );
  assert.deepEqual(JSON.parse(stdout), [{ port: Number(new URL(servers.standbyUrl).port) }]);
  const pool = openPostgres({ url: servers.url, name: 'test' });
  await pool.all('SELECT 1');
  await servers.killStandby();
  const message = await until(() =>
    pool.all('SELECT 1').then(
      () => null,
      (error: { code: string; message: string }) => error.code === 'CONNECTION_NO_PRIMARY' && error.message,
    ),
  );
  assert.match(
    message,
    /:\d+ is an old primary \(timeline 1, after 2\), 127\.0\.0\.1:\d+ failed \(connect ECONNREFUSED/,
  );
  await pool.close();
});
