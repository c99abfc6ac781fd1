// Sandboxes and the migrator on the compose files: the service makes containers on the engine that it runs in itself, a
// worker runs commands in one, a release's migration is applied by the migrator, and `platform doctor` finds both well.
import assert from 'node:assert/strict';
import { mkdirSync, writeFileSync } from 'node:fs';
import { request } from 'node:http';
import path from 'node:path';
import { text } from 'node:stream/consumers';
import { after, before, test } from 'node:test';
import { startComposePlatform, type ComposePlatform } from '#test/setup/compose-platform.ts';
import { BASE_IMAGE } from '#test/setup/docker-engine.ts';
import { eventually, type Json } from '#test/setup/whole-platform.ts';

const WORKER = `export default {
  async fetch(request, env) {
    const run = new Function('env', 'BOX', 'DB', 'return (async () => {' + (await request.text()) + '})()');
    try { return Response.json((await run(env, env.BOX, env.DB)) ?? null); }
    catch (error) { return Response.json({ name: error.name, code: error.code, message: error.message }); }
  },
};\n`;
const YAML = 'name: boxes\nkind: worker\nsandbox:\n  BOX: workshop\ndb:\n  DB: notes\n';

let platform: ComposePlatform;
let project: string;

before(
  async () => {
    platform = await startComposePlatform(
      ['compose.split.yaml'],
      {
        COMPOSE_PROFILES: 'sandbox,migrator',
        SANDBOX_ENGINE_SOCKET: (process.env['DOCKER_HOST'] ?? '').replace(/^unix:\/\//, ''),
      },
      {
        SANDBOX_URL: 'http://sandbox:4006',
        // Sandboxes see any image with a shell.
        SANDBOX_DEFAULT_IMAGE: BASE_IMAGE,
        SANDBOX_DISK_MB: '64',
        SANDBOX_MEMORY_MB: '512',
        DB_MIGRATIONS_EXECUTOR: 'migrator',
      },
      ['caddy', 'sandbox', 'migrator'],
    );
    project = path.join(platform.folder, 'boxes');
    mkdirSync(path.join(project, 'src'), { recursive: true });
    mkdirSync(path.join(project, 'migrations'), { recursive: true });
    writeFileSync(path.join(project, 'platform.yaml'), YAML);
    writeFileSync(path.join(project, 'src/index.ts'), WORKER);
    const table = `CREATE TABLE note (text TEXT NOT NULL);\nINSERT INTO note VALUES ('by a migration');\n`;
    writeFileSync(path.join(project, 'migrations/0001_note.sql'), table);
    await platform.cli(project, 'deploy', '--prod', '--json');
  },
  { timeout: 400_000 },
);

after(async () => {
  // Their containers are none of Compose's.
  await run(`await BOX.get('one').destroy(); await BOX.get('two').destroy();`).catch(() => {});
  await platform?.close();
});

/** What code returns that the worker runs; `fetch` sends no host of ours. */
const run = (code: string): Promise<Json> =>
  new Promise((resolve, reject) => {
    const options = { host: '127.0.0.1', port: platform.ports.handler, method: 'POST' };
    const sent = request({ ...options, headers: { host: 'boxes.localhost' } }, (answer) => {
      text(answer).then((said) => resolve(JSON.parse(said)), reject);
    });
    sent.on('error', reject).end(code);
  });
const containerOf = async (service: string): Promise<string> =>
  (await platform.compose('ps', '--quiet', service)).trim();

test('a worker runs a command in a sandbox, whose container is on the engine, without a network', async () => {
  const said = await run(`const { stdout, exitCode } = await BOX.get('one').exec('echo $((6 * 7)) > n; cat n; id -u');
    return { stdout, exitCode };`);
  assert.deepEqual(said, { stdout: '42\n1000\n', exitCode: 0 });
  const began = performance.now();
  await run(`return BOX.get('one').exec('true');`);
  console.log(`A command of a running sandbox, over Caddy: ${(performance.now() - began).toFixed(0)} ms`);
  const ids = await platform.engine.docker('ps', '--quiet', '--filter', 'label=platform.sandbox.id=one');
  const [{ HostConfig: host }] = JSON.parse(await platform.engine.docker('inspect', ids.trim())) as [Json];
  assert.deepEqual([host.NetworkMode, host.Privileged, host.CapDrop], ['none', false, ['ALL']]);
});

test('its disk has a bound, by a loop device that the service has no other device beside', async () => {
  const full = await run(`const { exitCode, stderr } = await BOX.get('one').exec('head -c 100000000 /dev/zero > big');
    await BOX.get('one').exec('rm big'); return { exitCode, stderr };`);
  assert.equal(full.exitCode, 1);
  assert.match(full.stderr, /No space left on device/);
  const sandbox = await containerOf('sandbox');
  const other = 'mknod /dev/other b 259 0; mknod /dev/disk b 8 0; cat /dev/other /dev/disk /dev/mem';
  await assert.rejects(platform.engine.docker('exec', sandbox, 'sh', '-c', other), /Operation not permitted/);
});

test('only the sandbox service has the socket, and its container no right but MKNOD', async () => {
  const ids = (await platform.compose('ps', '--quiet')).trim().split('\n');
  const all = JSON.parse(await platform.engine.docker('inspect', ...ids)) as Json[];
  const withSocket = all.filter(({ Mounts: mounts }) => mounts.some(({ Source: at }: Json) => at.endsWith('.sock')));
  assert.deepEqual(
    withSocket.map(({ Config: config }) => config.Labels['com.docker.compose.service']),
    ['sandbox'],
  );
  const [{ HostConfig: host, NetworkSettings: network }] = withSocket as [Json];
  assert.deepEqual(
    [host.Privileged, host.ReadonlyRootfs, host.CapDrop, host.CapAdd],
    [false, true, ['ALL'], ['MKNOD']],
  );
  assert.deepEqual(
    Object.values<Json>(network.Ports).filter((bindings) => bindings !== null),
    [],
  );
});

test('killed and started again, the service finds its sandboxes with their files', async () => {
  const sandbox = await containerOf('sandbox');
  await platform.engine.docker('kill', '--signal', 'KILL', sandbox);
  await platform.engine.docker('start', sandbox);
  await eventually('the sandbox again', async () => {
    const { stdout } = await run(`return BOX.get('one').exec('cat n');`);
    return stdout === '42\n';
  });
  assert.deepEqual(
    await run(`const { stdout } = await BOX.get('two').exec('cat n || echo none'); return stdout;`),
    'none\n',
  );
});

test('the migrator, in its container, applies the migration of a release', async () => {
  const { results } = await run(`return DB.prepare('SELECT text FROM note').all();`);
  assert.deepEqual(results, [{ text: 'by a migration' }]);
  const log = await platform.engine.docker('logs', await containerOf('migrator'));
  assert.match(log, /Migrations claimed/);
  const more = `INSERT INTO note VALUES ('by a second one');\n`;
  writeFileSync(path.join(project, 'migrations/0002_more.sql'), more);
  await platform.cli(project, 'deploy', '--prod', '--json');
  assert.deepEqual((await run(`return DB.prepare('SELECT count(*) AS n FROM note').all();`)).results, [{ n: 2 }]);
});

test('`platform doctor` finds the service, its engine, its image and its isolation well', async () => {
  // It finds other things of so young an installation not well.
  const said = await platform
    .compose('run', '--rm', 'operator', 'doctor', '--json')
    .catch(({ cause }: Error) => (cause as { stdout: string }).stdout);
  for (const words of [
    /The service at sandbox:4006 answers: container, \d run/,
    /The container engine [\d.]+\S* answers/,
    /The engine has the image platform-test-base:trixie/,
    /None of \d containers has a network/,
    /Each sandbox has a disk of 64 MB/,
  ])
    assert.match(said, words);
});
