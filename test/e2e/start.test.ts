// `npm start` as a person runs it: real launcher, supervisor, engine and examples, looked at with HTTP and, where
// Chromium is installed, with a real browser.
import assert from 'node:assert/strict';
import { execFile, spawn, type ChildProcess } from 'node:child_process';
import { once } from 'node:events';
import { existsSync, readdirSync, readFileSync } from 'node:fs';
import { mkdtemp, readdir, readFile, rm, stat } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join, resolve } from 'node:path';
import { createInterface } from 'node:readline';
import { after, before, test } from 'node:test';
import { promisify } from 'node:util';
import { chromium } from '#cli/tasks/tools/chromium.ts';
import { freePort } from '#test/setup/free-port.ts';
import { send } from '#test/setup/handler.ts';
import { until } from '#test/setup/until.ts';

const launcher = join(import.meta.dirname, '../../cli/run.mjs');
let folder = '';
let port = 0;
let running: ChildProcess | null = null;

const environment = (): NodeJS.ProcessEnv => ({
  ...process.env,
  FS_PATH: folder,
  HANDLER_PORT: String(port),
  HANDLER_PRIVATE_PORT: '0',
  API_PORT: '0',
  UI_PORT: '0',
  DOCS_PORT: '0',
  PLATFORM_HOME: folder,
  NO_COLOR: '1',
});

/** Starts the platform and reads its lines until the one that says how to stop it. */
async function start(): Promise<{ lines: string[]; child: ChildProcess }> {
  // As careless as can be: what is private does not depend on it.
  process.umask(0);
  const child = spawn(process.execPath, [launcher, 'start'], {
    env: environment(),
    stdio: ['ignore', 'pipe', 'inherit'],
  });
  const lines: string[] = [];
  for await (const line of createInterface({ input: child.stdout })) {
    lines.push(line);
    if (line.startsWith('Ctrl-C')) break;
  }
  return { lines, child };
}

async function stop(child: ChildProcess): Promise<number | null> {
  child.kill('SIGTERM');
  const [code] = (await once(child, 'exit')) as [number | null];
  return code;
}

before(async () => {
  folder = await mkdtemp(join(tmpdir(), 'platform-test-'));
  port = await freePort();
});
after(async () => {
  if (running !== null) await stop(running);
  // Where root may not have its database in the folder itself.
  const elsewhere = await readFile(join(folder, 'postgres/LOCATION'), 'utf8').catch(() => '');
  if (elsewhere !== '') await rm(elsewhere.trim(), { recursive: true, force: true });
  await rm(folder, { recursive: true, force: true });
});

test('it prints the URLs of the examples, and each of them answers', async () => {
  const { lines, child } = await start();
  running = child;
  const urls = lines.flatMap((line) => /^\s*(http:\/\/\S+)$/.exec(line)?.[1] ?? []);
  assert.deepEqual(
    urls,
    ['api', 'chat', 'coder', 'documents', 'guest-book', 'hello', 'spa'].map(
      (name) => `http://${name}.localhost:${port}`,
    ),
  );
  assert.match((await send(port, `hello.localhost:${port}`, '/?name=Ada')).text, /^Hello Ada!/);
  assert.equal((await send(port, `spa.localhost:${port}`, '/')).headers['content-type'], 'text/html; charset=utf-8');
  const login = await send(port, `api.localhost:${port}`, '/login', {
    method: 'POST',
    body: '{"name":"ada"}',
    headers: { 'content-type': 'application/json' },
  });
  const { token } = login.json() as { token: string };
  const whoami = await send(port, `api.localhost:${port}`, '/whoami', {
    headers: { authorization: `Bearer ${token}` },
  });
  assert.match(whoami.text, /ada/);
  // The database with its migrations, state, sign-in: what it is made of runs here too (guest-book-platform.test.ts
  // asks for all of it).
  const book = await send(port, `guest-book.localhost:${port}`, '/api/entries');
  assert.deepEqual(book.json(), { entries: [], next: null });
  const unknown = await send(port, `nobody.localhost:${port}`, '/', { headers: { accept: 'text/html' } });
  assert.equal(unknown.status, 404);
  assert.match(unknown.text, /<h1>Site not found<\/h1>/);
});

test(
  'a browser shows the single-page app, also on a route of its own, and the guest book',
  { skip: chromium === null ? 'Chromium is not installed' : false },
  async () => {
    const profile = await mkdtemp(join(tmpdir(), 'platform-browser-'));
    const show = async (url: string): Promise<string> => {
      const flags = [
        '--headless',
        '--no-sandbox',
        '--disable-gpu',
        '--disable-quic',
        '--no-first-run',
        '--disable-background-networking',
        '--disable-component-update',
        '--disable-sync',
        `--user-data-dir=${profile}`,
        '--virtual-time-budget=5000',
        '--dump-dom',
        url,
      ];
      return (await promisify(execFile)(chromium as string, flags, { timeout: 60_000 })).stdout;
    };
    const home = await show(`http://spa.localhost:${port}/`);
    assert.match(home, /Berlin/, 'the page has fetched /api/cities and shown it');
    assert.match(await show(`http://spa.localhost:${port}/about`), /<html lang="en"/);
    assert.match(await show(`http://guest-book.localhost:${port}/`), /Nobody has written anything yet/);
    await rm(profile, { recursive: true, force: true });
  },
);

test('nobody else on the machine can read what the platform keeps', async () => {
  const open: string[] = [];
  for (const name of await readdir(folder)) if (((await stat(join(folder, name))).mode & 0o077) !== 0) open.push(name);
  assert.deepEqual(open, []);
  assert.equal((await stat(join(folder, 'routes/hello.json'))).mode & 0o777, 0o600);
});

test('a second one on the same folder says so and ends', async () => {
  const second = spawn(process.execPath, [launcher, 'start'], {
    env: environment(),
    stdio: ['ignore', 'ignore', 'pipe'],
  });
  let said = '';
  second.stderr.on('data', (chunk: Buffer) => (said += chunk.toString()));
  const [code] = (await once(second, 'exit')) as [number];
  assert.equal(code, 1);
  assert.match(said, /already running/);
});

test('stopped and started again it has its deployments, and publishes nothing anew', async () => {
  assert.equal(await stop(running as ChildProcess), 0);
  const { lines, child } = await start();
  running = child;
  assert.deepEqual(
    lines.filter((line) => line.includes('published')),
    [],
  );
  assert.match((await send(port, `hello.localhost:${port}`, '/?name=Bo')).text, /^Hello Bo!/);
});

test(
  'SIGTERM to npm ends everything below it, and no launcher stands in between',
  { skip: process.platform !== 'linux' && 'reads /proc' },
  async () => {
    assert.equal(await stop(running as ChildProcess), 0);
    const root = join(import.meta.dirname, '../..');
    const npm = spawn('npm', ['start'], {
      cwd: root,
      env: environment(),
      stdio: ['ignore', 'pipe', 'inherit'],
    });
    running = npm;
    for await (const line of createInterface({ input: npm.stdout })) if (line.startsWith('Ctrl-C')) break;
    const below = processesBelow(npm.pid!);
    const direct = below.filter(({ parent }) => parent === npm.pid);
    assert.deepEqual(
      direct.map(({ words }) => [resolve(root, words.at(-2)!), words.at(-1)]),
      [[launcher, 'start']],
    );
    // npm says 143 for what ended by the signal, and what it ran ended in order.
    await stop(npm);
    running = null;
    await until(async () => below.every(({ pid }) => !existsSync(`/proc/${pid}`)));
  },
);

interface Below {
  readonly pid: number;
  readonly parent: number;
  readonly words: readonly string[];
}

/** What a process started, and they, as /proc has them. */
function processesBelow(pid: number): Below[] {
  const all: Below[] = [];
  for (const name of readdirSync('/proc')) {
    if (!/^\d+$/.test(name)) continue;
    try {
      const parent = Number(readFileSync(`/proc/${name}/stat`, 'latin1').split(') ')[1]!.split(' ')[1]);
      all.push({
        pid: Number(name),
        parent,
        words: readFileSync(`/proc/${name}/cmdline`, 'utf8').split('\0').slice(0, -1),
      });
    } catch {
      // It has ended.
    }
  }
  const found = [pid];
  for (const each of found) for (const other of all) if (other.parent === each) found.push(other.pid);
  return all.filter((each) => each.pid !== pid && found.includes(each.pid));
}
