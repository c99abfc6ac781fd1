// `git push` of a server for Node to a whole platform: detected, built, migrated and started by what its files show;
// pushed again; and its messages, timers and workflow runs, which the broker brings to a route of the server.
import assert from 'node:assert/strict';
import { mkdirSync, readdirSync, readFileSync, writeFileSync } from 'node:fs';
import { request } from 'node:http';
import path from 'node:path';
import { after, before, test } from 'node:test';
import { root } from '#cli/tasks/tools/processes.ts';
import { eventually, startWholePlatform, type Json, type WholePlatform } from '#test/setup/whole-platform.ts';

/** As `npm install @platform-run/dev` would put it there. */
const client = path.join(root, 'packages/dev');

/** Notes go into the database: each deployment, and each start of its server, writes into the same one. */
const server = `
import { createServer } from 'node:http';
import { Readable } from 'node:stream';
import { createEventRoute, getPlatformEnv } from '../client/index.ts';

const note = async (text) => {
  const { DB } = await getPlatformEnv();
  await DB.prepare('INSERT INTO notes (text) VALUES (?)').bind('VERSION: ' + text).run();
};
const events = createEventRoute({
  async message({ payload, queueName, attempt }) {
    await note(queueName + ' ' + payload.text + ' attempt ' + attempt);
    if (attempt === 1) throw new Error('not yet');
  },
  timer: ({ id, payload }) => note('timer ' + id + ' ' + payload),
  workflows: {
    async orders({ input, step, env }) {
      const total = await step.run('add up', async () => {
        await note('adds up');
        return input.prices.reduce((sum, price) => sum + price, 0);
      });
      const { payload } = await step.waitForEvent('payment', { type: 'paid', timeoutMs: 3_600_000 });
      const { by } = payload;
      await step.run('send', { retries: 2, backoff: 'constant' }, async () => {
        const tried = await env.DB.prepare("SELECT id FROM notes WHERE text LIKE '%sends to%'").first();
        await note('sends to ' + by);
        if (tried === null) throw new Error('no van');
      });
      return { total, by };
    },
  },
});
const pages = {
  '/': () => 'VERSION',
  '/notes': async ({ DB }) => (await DB.prepare('SELECT text FROM notes ORDER BY id').all()).results.map(({ text }) => text),
  '/send': ({ JOBS }) => JOBS.send({ text: 'mail' }),
  '/wake': ({ CLOCK }) => CLOCK.set('alarm', Date.now(), 'early'),
  '/order': ({ ORDERS }) => ORDERS.trigger({ prices: [3, 4] }, { id: 'order-1' }),
  '/pay': ({ ORDERS }) => ORDERS.sendEvent('order-1', { type: 'paid', payload: { by: 'Ada' } }),
  '/run': ({ ORDERS }) => ORDERS.getExecution('order-1'),
};
createServer(async (request, response) => {
  const { method, url, headers } = request;
  if (url.startsWith('/__platform/')) {
    const sent = new Request('http://app' + url, { method, headers, body: Readable.toWeb(request), duplex: 'half' });
    const answer = await events(sent);
    response.writeHead(answer.status);
    return Readable.fromWeb(answer.body).pipe(response);
  }
  try {
    response.end(JSON.stringify((await pages[url](await getPlatformEnv())) ?? null));
  } catch (error) {
    response.writeHead(500).end(String(error?.stack));
  }
}).listen(process.env.PORT);
`;

const build = `
import { mkdirSync, readFileSync, writeFileSync } from 'node:fs';
const { version } = JSON.parse(readFileSync('package.json', 'utf8'));
mkdirSync('dist', { recursive: true });
writeFileSync('dist/server.js', readFileSync('src/server.js', 'utf8').replaceAll('VERSION', version));
`;

const manifest = (version: string): string =>
  JSON.stringify({
    name: 'shop',
    version,
    type: 'module',
    scripts: { build: 'node build.js', start: 'node dist/server.js' },
  });

let platform: WholePlatform;
let clone = '';

/** What a path of a host answers. */
function get(label: string, at: string): Promise<{ status: number; text: string }> {
  return new Promise((resolve, reject) => {
    const headers = { host: `${label}.localhost` };
    request({ host: '127.0.0.1', port: platform.ports.handler, path: at, headers }, (response) => {
      let text = '';
      response.setEncoding('utf8').on('data', (chunk: string) => (text += chunk));
      response.on('end', () => resolve({ status: response.statusCode ?? 0, text }));
    })
      .on('error', reject)
      .end();
  });
}

async function json(label: string, at: string): Promise<Json> {
  const { status, text } = await get(label, at);
  assert.equal(status, 200, `${label} ${at}: ${text}`);
  return JSON.parse(text);
}

const has = (notes: readonly string[], ...wanted: readonly string[]): boolean =>
  wanted.every((text) => notes.includes(text));

/** Commits what is there and pushes it. @returns what Git printed. */
async function push(): Promise<string> {
  await platform.git(clone, 'add', '.');
  await platform.git(clone, 'commit', '-q', '-m', 'Change');
  const remote = `http://x:${platform.token}@127.0.0.1:${platform.ports.api}/git/shop.git`;
  return (await platform.git(clone, 'push', remote, 'main')).stderr;
}

const idOf = (said: string): string => /remote: Deployment (d[0-9a-z]{12}) of main/.exec(said)![1]!;

before(async () => {
  platform = await startWholePlatform({ DELIVERY_BACKOFF_MS: '200' });
  clone = path.join(platform.folder, 'shop');
  const files: Record<string, string> = {
    'platform.yaml':
      'db: { DB: notes }\nqueue: { JOBS: jobs }\nworkflow: { ORDERS: orders }\ntimer: { CLOCK: clock }\n',
    'package.json': manifest('first'),
    'build.js': build,
    'src/server.js': server,
    'migrations/0001_notes.sql': 'CREATE TABLE notes (id INTEGER PRIMARY KEY, text TEXT NOT NULL);',
  };
  for (const name of readdirSync(client).filter((file) => file.endsWith('.ts')))
    files[`client/${name}`] = readFileSync(path.join(client, name), 'utf8');
  for (const [file, text] of Object.entries(files)) {
    mkdirSync(path.dirname(path.join(clone, file)), { recursive: true });
    writeFileSync(path.join(clone, file), text);
  }
  await platform.git(clone, 'init', '-q', '-b', 'main');
});

after(() => platform.close());

let first = '';

test('a push of a server is seen as one, built, migrated and started, and answers under all of its URLs', async () => {
  const said = await push();
  first = idOf(said);
  assert.match(said, /remote: \[clone\] Kind: ssr \(its script "start" runs a server \(Node\.js\)\)/);
  assert.match(said, /remote: \[clone\] Build command: npm run build \(package\.json has a script "build"\)/);
  assert.match(said, /remote: Live at http:\/\/shop\.localhost/);
  for (const label of ['shop', 'shop--main', `shop--${first}`]) assert.equal(await json(label, '/'), 'first', label);
  assert.deepEqual(await json('shop', '/notes'), []);
});

test('a message that the server throws at comes again, and a timer once', async () => {
  await json('shop', '/send');
  await json('shop', '/wake');
  const wanted = ['first: jobs mail attempt 1', 'first: jobs mail attempt 2', 'first: timer alarm early'];
  const notes = await eventually('Message and timer', async () => {
    const all = await json('shop', '/notes');
    return has(all, ...wanted) && all;
  });
  assert.deepEqual(notes.toSorted(), wanted);
});

test('a run waits while another push takes the URLs over, and goes on where it began', async () => {
  await json('shop', '/order');
  await eventually('The first step', async () => has(await json('shop', '/notes'), 'first: adds up'));

  writeFileSync(path.join(clone, 'package.json'), manifest('second'));
  const second = idOf(await push());
  assert.notEqual(second, first);
  for (const [label, text] of [
    ['shop', 'second'],
    ['shop--main', 'second'],
    [`shop--${second}`, 'second'],
    [`shop--${first}`, 'first'],
  ] as const)
    assert.equal(await json(label, '/'), text, label);

  await json('shop', '/pay');
  const run = await eventually('The end of the run', async () => {
    const found = await json('shop', '/run');
    return found.completedAt !== null && found;
  });
  assert.deepEqual([run.status, run.output, run.errorMessage], ['completed', { total: 7, by: 'Ada' }, null]);
  const notes = await json('shop', '/notes');
  assert.deepEqual(notes.slice(3), ['first: adds up', 'first: sends to Ada', 'first: sends to Ada']);
});

test('messages go to the deployment that is live', async () => {
  await json('shop', '/send');
  await eventually('The message', async () => has(await json('shop', '/notes'), 'second: jobs mail attempt 2'));
});
