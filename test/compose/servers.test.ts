// A project of kind ssr on the compose files: its server runs in the container `servers`, under a user of its own, with
// bounds that the kernel keeps, and reaches its bindings and the internet, but no part of the platform.
import assert from 'node:assert/strict';
import { request } from 'node:http';
import { mkdirSync, writeFileSync } from 'node:fs';
import path from 'node:path';
import { after, before, test } from 'node:test';
import { startComposePlatform, type ComposePlatform } from '#test/setup/compose-platform.ts';
import { bindingCall, runningApp } from '#test/setup/hostile-server.ts';
import { eventually, type Json } from '#test/setup/whole-platform.ts';

const MEMORY_MB = 192;

let platform: ComposePlatform;

before(
  async () => {
    platform = await startComposePlatform(
      ['compose.yaml'],
      { COMPOSE_PROFILES: 'servers' },
      { SSR_MEMORY_MB: String(MEMORY_MB) },
    );
    const folder = path.join(platform.folder, 'app');
    const files = { ...runningApp(), 'platform.yaml': 'name: app\nkind: ssr\nbuild: "true"\ncache:\n  KV: pages\n' };
    for (const [file, text] of Object.entries(files)) {
      mkdirSync(path.dirname(path.join(folder, file)), { recursive: true });
      writeFileSync(path.join(folder, file), text);
    }
    await platform.cli(folder, 'deploy', '--prod', '--json');
  },
  { timeout: 300_000 },
);

after(() => platform?.close());

/** What code returns that the server runs, or `{error}`. */
function run(code: string): Promise<Json> {
  return new Promise((resolve, reject) => {
    const options = { host: '127.0.0.1', port: platform.ports.handler, path: '/run', method: 'POST' };
    const sent = request({ ...options, headers: { host: 'app.localhost' } }, (answer) => {
      let text = '';
      answer.setEncoding('utf8').on('data', (chunk: string) => (text += chunk));
      answer.on('end', () =>
        answer.statusCode === 200 ? resolve(JSON.parse(text)) : reject(new Error(`${answer.statusCode} ${text}`)),
      );
      answer.on('error', reject);
    });
    sent.on('error', reject).end(code);
  });
}

const addressOf = async (service: string): Promise<string[]> => {
  const id = (await platform.compose('ps', '--quiet', service)).trim();
  const format = '{{range .NetworkSettings.Networks}}{{.IPAddress}} {{end}}';
  return (await platform.engine.docker('inspect', '--format', format, id)).trim().split(/\s+/);
};

test('its server answers, serves its files, and calls its bindings', async () => {
  assert.equal((await platform.open('app')).text, 'hello from a server');
  assert.match(await run(bindingCall('KV', 'set', 'key', 'kept')), /^200 /);
  assert.equal(await run(bindingCall('KV', 'get', 'key')), '200 {"result":"kept"}');
});

test('it has a user of its own and no right, and sees its own files alone', async () => {
  const status = (await run(`return fs.readFileSync('/proc/self/status', 'latin1');`)) as string;
  const field = (name: string): string => new RegExp(`^${name}:\\s+(\\S+)`, 'm').exec(status)![1]!;
  assert.ok(Number(field('Uid')) >= 60_700, field('Uid'));
  for (const name of ['CapInh', 'CapPrm', 'CapEff', 'CapAmb']) assert.equal(Number(`0x${field(name)}`), 0, name);
  assert.equal(field('NoNewPrivs'), '1');
  // The filter of the container, and that no rights are won in a namespace of its own.
  assert.equal(field('Seccomp'), '2');
  const code = `return await new Promise((resolve) => child_process.execFile('unshare', ['-U', 'true'], (error) => resolve(error === null ? 'made' : 'refused')));`;
  assert.equal(await run(code), 'refused');
  for (const folder of ['/data', '/run/servers/ssr.sock', '/opt/platform'])
    assert.deepEqual(await run(`return fs.statSync('${folder}').size;`), { error: 'ENOENT' }, folder);
});

test('it reaches neither Postgres nor the private ports, by name or by address', async () => {
  const targets: [string, number][] = [
    ['postgres', 5432],
    ['platform', 8081],
    ['handler', 8081],
    ['169.254.169.254', 80],
  ];
  for (const [service, ports] of [
    ['postgres', [5432]],
    ['platform', [8081, 4001, 4002]],
    ['caddy', [4001]],
    ['servers', [8081]],
  ] as const)
    for (const address of await addressOf(service)) for (const port of ports) targets.push([address, port]);
  for (const [host, port] of targets) {
    const led = `return await new Promise((resolve, reject) => net.connect(${port}, '${host}', () => resolve('connected')).on('error', reject));`;
    const said = await run(led);
    assert.match(String(said.error), /^(?:EACCES|ENOTFOUND|ENETUNREACH)$/, `${host}:${port}: ${JSON.stringify(said)}`);
    const bare = `return await new Promise((resolve) => child_process.execFile(process.execPath,
      ['-e', "require('net').connect(${port}, '${host}', () => console.log('connected')).on('error', () => console.log('refused'))"],
      { env: {} }, (error, out) => resolve(out.trim())));`;
    assert.equal(await run(bare), 'refused', `${host}:${port} without the preload`);
  }
});

test('the kernel keeps its bounds of memory, processes and processors', async () => {
  const servers = (await platform.compose('ps', '--quiet', 'servers')).trim();
  const script = `
    const fs = require('node:fs');
    const found = {};
    for (const base of ['/sys/fs/cgroup', ...['memory', 'pids', 'cpu'].map((name) => '/sys/fs/cgroup/' + name)])
      for (const name of fs.existsSync(base) ? fs.readdirSync(base) : []) if (name.startsWith('platform-'))
        for (const file of ['memory.max', 'memory.limit_in_bytes', 'pids.max', 'cpu.max', 'cpu.cfs_quota_us'])
          if (fs.existsSync(base + '/' + name + '/' + file)) found[file] = fs.readFileSync(base + '/' + name + '/' + file, 'utf8').trim();
    console.log(JSON.stringify(found));`;
  const found = JSON.parse(await platform.engine.docker('exec', servers, 'node', '-e', script)) as Json;
  assert.equal(Number(found['memory.max'] ?? found['memory.limit_in_bytes']), MEMORY_MB * 1024 * 1024);
  assert.equal(found['pids.max'], '256');
  assert.equal(found['cpu.max'] ?? `${found['cpu.cfs_quota_us']} 100000`, '100000 100000');

  // Where it makes its socket it may write: memory as well, and no disk.
  const fill = `for (let at = 0; ; at++) fs.writeFileSync(process.env.PLATFORM_SERVER_FOLDER + '/own/' + at, Buffer.alloc(8_000_000));`;
  await assert.rejects(run(fill), /502|503/);
  await eventually('the server again', async () => (await platform.open('app')).status === 200);
  await assert.rejects(run(`globalThis.held = []; for (;;) held.push(Buffer.alloc(8_000_000, 1));`), /502|503/);
  await eventually('the server again', async () => (await platform.open('app')).status === 200);
});

test('without its rights the container says what it takes, and runs no server', async () => {
  const name = `${platform.project}-refused`;
  const tmpfs = ['--tmpfs', '/tmp', '--tmpfs', '/cache', '--tmpfs', '/run/servers', '--tmpfs', '/data/ssr'];
  const limits = ['--read-only', '--cap-drop', 'ALL', '--security-opt', 'no-new-privileges'];
  await platform.engine.docker('run', '--detach', '--name', name, ...limits, ...tmpfs, 'platform-servers');
  try {
    const said = await eventually('its word', async () => {
      const log = await platform.engine.docker('logs', name);
      return /Node servers are refused[^"]*/.exec(log)?.[0] ?? null;
    });
    assert.match(said, /are refused/);
    assert.match(said, /In a container, use cap_add and security_opt of containers\/servers\.yaml/);
  } finally {
    await platform.engine.docker('rm', '--force', name);
  }
});
