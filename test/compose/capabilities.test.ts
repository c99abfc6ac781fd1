// Each capability of projects once over both compose files, on one installation each; then what an operator does there:
// a restart under load, doctor, a backup by schedule, an upgrade, a restore.
import assert from 'node:assert/strict';
import { mkdirSync, symlinkSync, writeFileSync } from 'node:fs';
import { request } from 'node:http';
import path from 'node:path';
import { test } from 'node:test';
import { root } from '#cli/tasks/tools/processes.ts';
import { startComposePlatform, type ComposePlatform } from '#test/setup/compose-platform.ts';
import { ssrApp } from '#test/setup/ssr-app.ts';
import { startSteadyLoad } from '#test/setup/steady-load.ts';
import { eventually, type Json } from '#test/setup/whole-platform.ts';

const INSTALLATION_MS = 1_800_000;
const PER_SECOND = 50;

const allYaml = `
name: all
kind: worker
db: { DB: main }
state: { KV: seen }
fs: { FILES: files }
queue: { JOBS: jobs }
workflow: { RUN: run }
timer: { LATER: later }
cron: { TICK: '*/2 * * * * *' }
auth: { binding: USERS }
ai: true
`;
const allWorker = `
const seen = (env, what) => env.KV.put(what, '');
export default {
  async fetch(request, env) {
    const { pathname } = new URL(request.url);
    if (pathname === '/me') return Response.json((await env.USERS.getSession(request))?.user.email ?? null);
    if (pathname === '/start') {
      await env.DB.prepare('INSERT INTO notes VALUES (?)').bind('in a table').run();
      await env.FILES.put('one', 'in a file');
      await env.JOBS.send('one');
      await env.RUN.trigger('one');
      await env.LATER.set('one', { afterMs: 10 });
      const { model, choices } = await env.AI.run('auto', { prompt: 'hello' });
      return Response.json({ model, said: choices[0].message.content });
    }
    const { keys } = await env.KV.list();
    const { results } = await env.DB.prepare('SELECT text FROM notes').all();
    const file = await env.FILES.get('one');
    return Response.json({ seen: keys.map(({ name }) => name), notes: results, file: await file?.text() });
  },
  scheduled: (_event, env) => seen(env, 'cron'),
  message: (_event, env) => seen(env, 'queue'),
  timer: (_event, env) => seen(env, 'timer'),
  workflows: { run: ({ step, env }) => step.run('only', () => seen(env, 'workflow')) },
};
`;
const agentWorker = `
import { createAgent } from '@platform-run/agent';
export default createAgent({
  systemPrompt: 'You repeat.',
  model: 'mock/echo',
  messengers: {
    web: ({ PLATFORM_AGENT_STATE: state }) => ({
      sendMessage: (chatId, text) => state.put('said:' + chatId, text),
      async sendDocument() {},
      async sendTypingIndicator() {},
    }),
  },
  async handle(request, env, agent) {
    if (request.method === 'GET') return new Response(await env.PLATFORM_AGENT_STATE.get('said:ada'));
    return Response.json(await agent.handleMessage({ userId: 'ada', chatId: 'ada', platform: 'web', text: 'hello' }));
  },
});
`;

/** What the table that is printed has a row of. */
const capabilities: ((
  platform: ComposePlatform,
  file: string,
) => readonly [name: string, prove: () => Promise<void>])[] = [
  (platform) => [
    'a database, files and AI on the mock',
    async () => {
      const answer = JSON.parse(await ask(platform, 'all', '/start'));
      assert.equal(answer.model, 'mock/echo');
      assert.match(answer.said, /hello/);
      const { notes, file } = JSON.parse(await ask(platform, 'all', '/'));
      assert.deepEqual([notes, file], [[{ text: 'in a table' }], 'in a file']);
    },
  ],
  ...['cron', 'queue', 'timer', 'workflow'].map(
    (name) => (platform: ComposePlatform) =>
      [
        name,
        async () => {
          await eventually(name, async () => JSON.parse(await ask(platform, 'all', '/')).seen.includes(name));
        },
      ] as const,
  ),
  (platform) => [
    'users who sign up',
    async () => {
      const person = { email: 'ada@example.org', password: 'correct horse battery' };
      const { token } = JSON.parse(await ask(platform, 'all', '/auth/signup', person));
      assert.equal(await ask(platform, 'all', '/me', null, { authorization: `Bearer ${token}` }), '"ada@example.org"');
    },
  ],
  (platform) => [
    'an agent',
    async () => {
      await ask(platform, 'agent', '/', {});
      assert.match(await eventually('its reply', async () => (await ask(platform, 'agent', '/')) || null), /hello/);
    },
  ],
  (platform) => [
    'a server for Node',
    async () => assert.equal(await ask(platform, 'node', '/'), 'hello from a server'),
  ],
  (platform, file) => [
    'doctor, from inside',
    async () => {
      const { ok, checks } = JSON.parse(await program(platform, file, 'doctor', '--json'));
      const lines = checks.map(({ status, name, message }: Json) => `${status} ${name}: ${message}`);
      assert.ok(ok, lines.join('\n'));
      const wrong = lines.filter((line: string) => /is taken|no control plane|install caddy/i.test(line));
      assert.deepEqual(wrong, []);
    },
  ],
  (platform, file) => [
    `no request lost by a restart at ${PER_SECOND}/s`,
    async () => {
      const load = startSteadyLoad({ port: platform.ports.handler, host: 'plain.localhost', perSecond: PER_SECOND });
      const more = (count: number): Promise<unknown> => {
        const until = load.answered + count;
        return eventually(`${count} answers`, async () => load.answered >= until);
      };
      await more(100);
      await platform.compose('restart', handlerOf(file));
      await more(500);
      await load.stop();
      console.log(`${file}: ${load.sent} sent over a restart, ${load.failures.length} lost`);
      assert.deepEqual(load.failures.slice(0, 5), []);
    },
  ],
  (platform, file) => [
    'a backup by schedule, an upgrade and a restore',
    async () => {
      const list = async (): Promise<string[]> =>
        JSON.parse(await program(platform, file, 'backup', '--list', '--json')).backups;
      const before = await list();
      const location = await eventually(
        'A backup',
        async () => (await list()).find((name) => !before.includes(name)) ?? null,
      );
      await platform.cli(path.join(platform.folder, 'plain'), 'projects', 'delete', 'all', '--yes');
      await eventually('no worker', async () => (await platform.open('all')).status === 404);
      await platform.compose('stop', ...partsOf(file));
      const service = file === 'compose.yaml' ? ['platform', 'platform'] : ['operator'];
      const alone = (...words: string[]): Promise<string> => platform.compose('run', '--rm', ...service, ...words);
      await alone('upgrade');
      await alone('restore', `/data/backups/${path.basename(location)}`, '--force', '--yes');
      await platform.up();
      const { notes, file: text } = JSON.parse(await ask(platform, 'all', '/'));
      assert.deepEqual([notes, text], [[{ text: 'in a table' }], 'in a file']);
    },
  ],
];

for (const file of ['compose.yaml', 'compose.split.yaml'])
  test(`${file} has every capability`, { timeout: INSTALLATION_MS }, async (t) => {
    const platform = await startComposePlatform(
      [file],
      { COMPOSE_PROFILES: 'servers' },
      { AI_PROVIDER_MOCK_KIND: 'mock', BACKUP_CRON: '* * * * *' },
    );
    t.after(() => platform.close());
    await deploy(platform, 'all', {
      'platform.yaml': allYaml,
      'src/index.js': allWorker,
      'migrations/0001_notes.sql': 'CREATE TABLE notes (text TEXT NOT NULL);\n',
    });
    await deploy(platform, 'agent', {
      'platform.yaml': 'name: agent\nkind: worker\nagentSDK: true\n',
      'src/index.js': agentWorker,
    });
    await deploy(platform, 'node', { ...ssrApp(), 'platform.yaml': 'name: node\nkind: ssr\nbuild: "true"\n' });
    await deploy(platform, 'plain', {
      'platform.yaml': 'name: plain\nkind: worker\n',
      'src/index.js': `export default { fetch: () => new Response('plain') };\n`,
    });
    for (const capability of capabilities) {
      const [name, prove] = capability(platform, file);
      await t.test(`${file}: ${name}`, prove);
    }
  });

const handlerOf = (file: string): string => (file === 'compose.yaml' ? 'platform' : 'handler');

/** What works on the data. */
const partsOf = (file: string): string[] =>
  file === 'compose.yaml' ? ['platform', 'builder'] : ['handler', 'internal', 'api', 'web', 'builder', 'backups'];

/** Runs the program `platform` where the documents say to. */
function program(platform: ComposePlatform, file: string, ...words: string[]): Promise<string> {
  return file === 'compose.yaml'
    ? platform.compose('exec', '-T', 'platform', 'platform', ...words)
    : platform.compose('run', '--rm', 'operator', ...words);
}

async function deploy(platform: ComposePlatform, name: string, files: Readonly<Record<string, string>>): Promise<void> {
  const folder = path.join(platform.folder, name);
  for (const [file, text] of Object.entries(files)) {
    mkdirSync(path.dirname(path.join(folder, file)), { recursive: true });
    writeFileSync(path.join(folder, file), text);
  }
  mkdirSync(path.join(folder, 'node_modules/@platform-run'), { recursive: true });
  symlinkSync(path.join(root, 'packages/agent'), path.join(folder, 'node_modules/@platform-run/agent'));
  await platform.cli(folder, 'deploy', '--prod', '--json');
}

/** What a host of the platform answers, as visitors get it; with a body it is a POST of JSON. */
function ask(
  platform: ComposePlatform,
  label: string,
  at: string,
  body: unknown = null,
  headers: Readonly<Record<string, string>> = {},
): Promise<string> {
  return new Promise((resolve, reject) => {
    const type = body === null ? {} : { 'content-type': 'application/json', origin: `http://${label}.localhost` };
    const sent = request(
      {
        port: platform.ports.handler,
        path: at,
        method: body === null ? 'GET' : 'POST',
        headers: { host: `${label}.localhost`, ...type, ...headers },
      },
      (answer) => {
        let text = '';
        answer.setEncoding('utf8').on('data', (chunk: string) => (text += chunk));
        answer.on('end', () =>
          answer.statusCode! < 300 ? resolve(text) : reject(new Error(`${at}: ${answer.statusCode} ${text}`)),
        );
        answer.on('error', reject);
      },
    );
    sent.on('error', reject).end(body === null ? undefined : JSON.stringify(body));
  });
}
