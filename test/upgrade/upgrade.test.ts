// `npm run test:upgrade`: from the packed program of the last commit before `platform upgrade` existed to this one and
// back, with npm.
import assert from 'node:assert/strict';
import { execFile, spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdirSync, mkdtempSync, readlinkSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { createInterface } from 'node:readline';
import { after, before, test } from 'node:test';
import { promisify } from 'node:util';
import { nodeFlags } from '#core/node-flags.mjs';
import { startEmbeddedPostgres } from '#postgres/embedded.ts';
import { openSql } from '#postgres/sql.ts';
import { COMMIT_BEFORE } from '#cli/tasks/upgrade.ts';
import { digestOfFolder } from '#test/setup/backups.ts';
import { freePort } from '#test/setup/free-port.ts';
import { packCommit, packThis, unpack, withMigration } from '#test/setup/packed.ts';
import { send } from '#test/setup/send.ts';

const LATER = 'ALTER TABLE control.project ADD COLUMN later text';
const run = promisify(execFile);
const work = mkdtempSync(path.join(tmpdir(), 'platform-upgrade-'));
const folder = path.join(work, 'data');
let port: number;
let old: string;
let now: string;
let later: string;
let tarball: string;
let environment: NodeJS.ProcessEnv;

before(async () => {
  const before = packCommit(COMMIT_BEFORE, path.join(work, 'before'));
  assert.ok(before !== null, `commit ${COMMIT_BEFORE} is not in this clone: git fetch --unshallow`);
  old = unpack(before, path.join(work, 'old'));
  tarball = await packThis(path.join(work, 'dist'));
  now = unpack(tarball, path.join(work, 'now'));
  later = withMigration(tarball, path.join(work, 'later'), LATER);
  port = await freePort();
  environment = {
    ...process.env,
    FS_PATH: folder,
    PLATFORM_HOME: path.join(work, 'home'),
    HANDLER_PORT: String(port),
    HANDLER_PRIVATE_PORT: '0',
    API_PORT: String(await freePort()),
    UI_PORT: String(await freePort()),
    DOCS_PORT: 'off',
    NO_COLOR: '1',
  };
  delete environment['NODE_TEST_CONTEXT'];
});
after(() => rmSync(work, { recursive: true, force: true }));

const launcher = (program: string): string[] => [...nodeFlags, '--', path.join(program, 'cli/run.mjs')];

async function platform(program: string, ...words: string[]): Promise<{ code: number; output: string }> {
  try {
    const { stdout, stderr } = await run(process.execPath, [...launcher(program), ...words], {
      env: environment,
      cwd: work,
    });
    return { code: 0, output: stdout + stderr };
  } catch (error) {
    const { code, stdout, stderr } = error as { code: number; stdout: string; stderr: string };
    return { code, output: stdout + stderr };
  }
}

/** Starts a version; resolves when it serves. @throws {Error} with its output when it ends before. */
async function start(program: string): Promise<{ stop(): Promise<void> }> {
  const child = spawn(process.execPath, [...launcher(program), 'start'], {
    env: environment,
    cwd: work,
    stdio: ['ignore', 'pipe', 'pipe'],
  });
  const lines: string[] = [];
  await new Promise<void>((resolve, reject) => {
    for (const stream of [child.stdout, child.stderr])
      createInterface({ input: stream }).on('line', (line) => {
        lines.push(line);
        if (line === 'Ctrl-C stops it') resolve();
      });
    child.once('close', () => reject(new Error(lines.join('\n'))));
  });
  return {
    async stop() {
      child.kill('SIGTERM');
      if (child.exitCode === null) await once(child, 'exit');
    },
  };
}

async function ask(): Promise<string> {
  return (await send(port, 'counter.localhost', '/count')).text;
}

/** Every row that both versions know, of tables that a start does not touch, and every file. */
async function digest(): Promise<unknown> {
  const server = await startEmbeddedPostgres({ folder: path.join(folder, 'postgres') });
  const sql = openSql({ url: server.url, name: 'test', connectionsMax: 1 });
  try {
    const state = await sql`SELECT namespace, resource, key, value FROM binding.state ORDER BY 1, 2, 3`;
    const accounts = await sql`SELECT id FROM control.account ORDER BY 1`;
    const [{ count } = { count: 0 }] = await sql<
      { count: number }[]
    >`SELECT count(*) AS count FROM public.database_migration_audit`;
    return [[...state], [...accounts], count, digestOfFolder(folder, ['routes', 'artifacts', 'databases', 'files'])];
  } finally {
    await sql.end();
    await server.stop();
  }
}

const worker = `export default { async fetch(request, env) {
  if (new URL(request.url).pathname !== '/count') return new Response('well');
  const count = Number((await env.STATE.get('count')) ?? 0) + 1;
  await env.STATE.put('count', String(count));
  await env.DB.prepare('CREATE TABLE IF NOT EXISTS t (a)').run();
  await env.DB.prepare('INSERT INTO t VALUES (?)').bind(count).run();
  await env.FILES.put('count', String(count));
  return new Response(String(count));
} }`;

test('the version before is upgraded by a tarball, serves what it had, and is gone back to', async () => {
  const project = path.join(work, 'counter');
  mkdirSync(path.join(project, 'src'), { recursive: true });
  writeFileSync(path.join(project, 'src/index.js'), worker);
  writeFileSync(
    path.join(project, 'platform.yaml'),
    'main: src/index.js\nstate:\n  STATE: counts\ndb:\n  DB: main\nfs:\n  FILES: files\n',
  );
  const first = await start(old);
  const deployed = await platform(old, 'deploy', project, '--name', 'counter');
  assert.equal(deployed.code, 0, deployed.output);
  assert.equal(await ask(), '1');
  assert.equal(await ask(), '2');

  const running = await platform(now, 'upgrade');
  assert.match(running.output, /The platform runs on .*\nStop it first: two versions never work on one data folder/);
  const backup = path.join(work, 'online.tar');
  const online = await platform(now, 'backup', '--out', backup);
  assert.equal(online.code, 0, online.output);
  await first.stop();
  const before = await digest();

  const upgraded = await platform(now, 'upgrade', later);
  assert.equal(upgraded.code, 0, upgraded.output);
  const current = path.join(work, 'home/current');
  assert.match(readlinkSync(current), /^releases\/file-[0-9a-f]{16}$/);
  const program = path.join(current, 'node_modules/@platform-run/cli');
  const second = await start(program);
  assert.equal(await ask(), '3');
  await second.stop();

  // Neither of the older ones takes what is newer.
  await assert.rejects(start(now), /was written by a newer version of the platform/);
  await assert.rejects(start(old), /which this version of the platform does not know: start the newer version/);

  const back = await platform(program, 'upgrade', '--undo', '--yes');
  assert.equal(back.code, 0, back.output);
  assert.match(back.output, /The backup was restored; what was written since is in .*before-restore-/);
  assert.deepEqual(await digest(), before);
  const third = await start(old);
  assert.equal(await ask(), '3');
  await third.stop();
});
