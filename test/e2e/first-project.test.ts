// What a new user does first, by the lines of README.md and docs/cli.md as they stand, outside of the repository: as
// root and as another user, on the Node of this machine and on Node 24. The pages of docs: documented-pages.test.ts.
import assert from 'node:assert/strict';
import { execFileSync } from 'node:child_process';
import { existsSync, readdirSync, readFileSync } from 'node:fs';
import path from 'node:path';
import { test } from 'node:test';
import { root } from '#cli/tasks/tools/processes.ts';
import { freePort } from '#test/setup/free-port.ts';
import { send, type TestResponse } from '#test/setup/send.ts';
import { startWalk, within, type Walk } from '#test/setup/walk.ts';

/** Lines of the shell blocks of a file, without their comments. */
function blocks(file: string): string[][] {
  const text = readFileSync(path.join(root, file), 'utf8');
  return [...text.matchAll(/^```sh\n([\s\S]*?)^```$/gm)].map(([, block]) =>
    block!.split('\n').flatMap((line) => line.replace(/\s+#.*$/, '').trim() || []),
  );
}

/** Of the private port. */
const TOKEN = 'the-token-of-this-walk';
const [install, own] = blocks('README.md') as [string[], string[]];
const documented = blocks('docs/cli.md').flat();

/** A line that the documentation of commands has. */
function line(text: string): string {
  assert.ok(documented.includes(text), `docs/cli.md has no line \`${text}\``);
  return `npx ${text}`;
}

function megabytes(folder: string): number {
  return Number(execFileSync('du', ['-sm', folder], { encoding: 'utf8' }).split('\t')[0]);
}

const worker = (version: string): string => `import { Hono } from 'hono';
const app = new Hono<{ Bindings: PlatformEnv }>();
app.get('/', async (c) => {
  await c.env.DB.prepare('INSERT INTO visits (at) VALUES (?)').bind(Date.now()).run();
  const count = await c.env.DB.prepare('SELECT count(*) AS n FROM visits').first<number>('n');
  return c.text(\`${version} \${count! > 0 ? 'visited' : 'never'} \${process.env.SECRET ?? 'no secret'}\\n\`);
});
app.get('/send', async (c) => c.json(await c.env.MAIL.send({ to: 'ada' })));
export default {
  fetch: app.fetch,
  message(event: { payload: { to: string } }) {
    console.log('letter to', event.payload.to);
  },
  scheduled(event: { name: string }) {
    console.log('tick of', event.name);
  },
};
`;

const isRoot = process.getuid?.() === 0;
const node24 = path.dirname(process.execPath);

for (const { who, uid, node, installed, every } of [
  {
    who: `${isRoot ? 'root' : 'a user'}, on the Node of this machine, with npm ci`,
    uid: null,
    node: null,
    installed: false,
    every: true,
  },
  { who: 'a user, on Node 24', uid: isRoot ? 65_534 : null, node: node24, installed: true, every: false },
])
  test(`the first project of ${who}`, { timeout: 900_000 }, async (t) => {
    const handlerPort = await freePort();
    const privatePort = await freePort();
    const devPort = await freePort();
    const environment = {
      HANDLER_PORT: String(handlerPort),
      HANDLER_PRIVATE_PORT: String(privatePort),
      PRIVATE_PORT_TOKEN: TOKEN,
      HANDLER_PROCESSES: '1',
    };
    const walk = await startWalk({ uid, node, installed, environment });
    t.after(() => walk.end());
    assert.equal(own.length, 5);
    assert.deepEqual(install, ['npm ci', 'npm start']);
    if (!installed) assert.doesNotMatch(await walk.type(install[0]!), /EBADENGINE|deprecated/);
    const platform = await walk.begin(install[1]!, /Ctrl-C stops it/);
    assert.match(platform.output, new RegExp(`http://hello\\.localhost:${handlerPort}`));

    // A project of their own, in dev.
    const [init, cd, get, dev, deploy] = own as [string, string, string, string, string];
    await walk.type(init);
    await walk.type(cd);
    assert.equal(walk.folder, path.join(walk.home, 'hello-hono'));
    await walk.type(get);
    const size = megabytes(path.join(walk.folder, 'node_modules'));
    t.diagnostic(`node_modules of the Hono template: ${size} MB`);
    assert.ok(size < 150, `${size} MB`);
    walk.write('platform.yaml', platformYaml(devPort));
    walk.write('migrations/0001_visits.sql', 'CREATE TABLE visits (at INTEGER);\n');
    walk.write('src/index.ts', worker('one'));
    await walk.type('npm run types');
    await walk.type('npm run check');
    const running = await walk.begin(dev, /Ready http/);
    const onDev = async (wanted: string): Promise<void> => {
      await within(
        async () => ((await send(devPort, `localhost:${devPort}`, '/')).text === wanted ? true : null),
        10_000,
      );
    };
    await onDev('one visited no secret\n');
    walk.write('src/index.ts', worker('two'));
    await running.printed(/Reloaded/);
    await onDev('two visited no secret\n');
    await running.stop();

    // Deployed, with its database, queue and schedule.
    const served = (host: string, wanted: string): Promise<true> =>
      within(async () => ((await answer(handlerPort, host, '/')).text === wanted ? true : null), 10_000);
    const told = await walk.type(deploy);
    assert.match(told, new RegExp(`Deploying to the platform on port ${handlerPort} `));
    assert.match(told, new RegExp(`http://hello-hono\\.localhost:${handlerPort}\\n`));
    await served('hello-hono', 'two visited no secret\n');
    assert.equal((await answer(handlerPort, 'hello-hono', '/send')).status, 200);
    await within(async () => {
      const log = await walk.type(line('platform logs'));
      return /letter to ada/.test(log) && /tick of SECONDS/.test(log) ? true : null;
    }, 60_000);

    if (every) await everyCommand({ walk, handlerPort, privatePort, served });

    // All of it lies in the data folder, and is gone from memory.
    assert.ok(existsSync(path.join(walk.clone, '.platform/postgres/data-18/PG_VERSION')));
    assert.deepEqual(readdirSync(path.join(walk.home, '.platform/local')).length, 1);
    await platform.stop();
    assert.deepEqual(readdirSync(path.join(walk.home, '.platform/local')), []);
  });

/** What a platform with the project of the walk offers besides its first deployment, by the lines of docs/cli.md. */
async function everyCommand({
  walk,
  handlerPort,
  privatePort,
  served,
}: {
  readonly walk: Walk;
  readonly handlerPort: number;
  readonly privatePort: number;
  served(host: string, wanted: string): Promise<true>;
}): Promise<void> {
  // A preview, which leaves production alone; promoted, and gone back from.
  walk.write('src/index.ts', worker('three'));
  assert.match(
    await walk.type(line('platform deploy --branch login')),
    new RegExp(`http://hello-hono--login\\.localhost:${handlerPort}\\n`),
  );
  await served('hello-hono--login', 'three visited no secret\n');
  await served('hello-hono', 'two visited no secret\n');
  await walk.type(line('platform promote login'));
  await served('hello-hono', 'three visited no secret\n');
  await walk.type(line('platform rollback'));
  await served('hello-hono', 'two visited no secret\n');
  assert.match(await walk.type(line('platform deployments')), /login/);

  // A secret, for production alone.
  walk.write('secret.txt', 'hush\n');
  await walk.type(line('platform env set SECRET < secret.txt'));
  await walk.type(line('platform deployments retry main'));
  await served('hello-hono', 'two visited hush\n');
  await served('hello-hono--login', 'three visited no secret\n');
  assert.doesNotMatch(await walk.type(line('platform env list')), /hush/);
  // Every line that docs/cli.md has of them.
  for (const other of documented.filter((one) => one.startsWith('platform env '))) await walk.type(`npx ${other}`);
  assert.equal(readFileSync(path.join(walk.folder, '.env'), 'utf8'), "OTHER='value'\nSECRET='hush'\n");
  await walk.type(line('platform plan pro'));

  // The log goes on with what comes.
  const log = await walk.begin(line('platform logs -f'), /letter to ada/);
  assert.equal((await answer(handlerPort, 'hello-hono', '/send')).status, 200);
  await log.printed(/letter to ada/);
  await log.stop();

  // Metrics.
  const authorization = `Bearer ${TOKEN}`;
  const metrics = (await send(privatePort, '127.0.0.1', '/metrics', { headers: { authorization } })).text;
  assert.match(
    metrics,
    /platform_deployment_invocations_total\{deployment="d[0-9a-z]{12}",project="hello-hono",branch="main",target="production",kind="http",outcome="ok"\} [1-9]/,
  );
}

const answer = (port: number, host: string, target: string): Promise<TestResponse> =>
  send(port, `${host}.localhost:${port}`, target);

function platformYaml(port: number): string {
  return `kind: worker
compatibility_date: '2026-11-01'
dev: { port: ${port}, host: 127.0.0.1 }
db: { DB: visits }
queue: { MAIL: mail }
cron: { SECONDS: '* * * * * *' }
`;
}
