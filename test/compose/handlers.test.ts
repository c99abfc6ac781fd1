// Three handlers behind Caddy, each part in a container of its own: what containers may do, what a handler finds of
// the control plane (nothing), and what is lost when one is killed at 500 requests a second (what was in flight there).
import assert from 'node:assert/strict';
import { mkdirSync, writeFileSync } from 'node:fs';
import path from 'node:path';
import { after, before, test } from 'node:test';
import { startComposePlatform, type ComposePlatform } from '#test/setup/compose-platform.ts';
import { ssrApp } from '#test/setup/ssr-app.ts';
import { startSteadyLoad } from '#test/setup/steady-load.ts';
import { eventually, type Json } from '#test/setup/whole-platform.ts';

const PER_SECOND = 500;
const PROJECTS = ['one', 'two', 'three', 'four', 'five', 'six'];
const BUILDER_RIGHTS = ['CHOWN', 'DAC_OVERRIDE', 'FOWNER', 'KILL', 'SETGID', 'SETUID'];
const SERVER_RIGHTS = [...BUILDER_RIGHTS, 'NET_ADMIN', 'SETPCAP', 'SYS_ADMIN'].toSorted();
/** Requests that a handler answers at a time at this rate, by far. */
const IN_FLIGHT_MAX = 64;

/** Reads what the user of a handler can read: all files, and the variables of all processes. For `node -e`. */
const SEARCH = `
  const fs = require('node:fs');
  const wanted = Object.entries(JSON.parse(process.argv[1]));
  const secrets = new Set();
  const look = (text) => { for (const [name, value] of wanted) if (text.includes(value)) secrets.add(name); };
  let files = 0, processes = 0, engine = [];
  const walk = (folder) => {
    let entries = [];
    try { entries = fs.readdirSync(folder + '/', { withFileTypes: true }); } catch {}
    for (const entry of entries) {
      const at = folder + '/' + entry.name;
      if (['/proc', '/sys', '/dev'].includes(at)) continue;
      if (entry.isDirectory()) walk(at);
      else if (entry.isFile()) try { if (fs.statSync(at).size < 33554432) { look(fs.readFileSync(at, 'latin1')); files++; } } catch {}
    }
  };
  walk('');
  for (const pid of fs.readdirSync('/proc').filter((name) => /^[0-9]+$/.test(name) && Number(name) !== process.pid)) try {
    const text = fs.readFileSync('/proc/' + pid + '/environ', 'latin1');
    look(text); processes++;
    if (fs.readFileSync('/proc/' + pid + '/cmdline', 'latin1').includes('engine/main')) engine = text.split('\\0').map((line) => line.split('=')[0]);
  } catch {}
  console.log(JSON.stringify({ secrets: [...secrets], files, processes, engine }));
`;

let platform: ComposePlatform;

before(
  async () => {
    platform = await startComposePlatform(['compose.split.yaml', 'compose.handlers.yaml'], {
      COMPOSE_PROFILES: 'servers',
    });
    for (const name of PROJECTS) {
      const folder = path.join(platform.folder, name);
      mkdirSync(path.join(folder, 'src'), { recursive: true });
      writeFileSync(path.join(folder, 'platform.yaml'), `name: ${name}\nkind: worker\nstate:\n  STATE: counts\n`);
      const worker = `export default { fetch: () => new Response(${JSON.stringify(name)}) };\n`;
      writeFileSync(path.join(folder, 'src/index.ts'), worker);
      await platform.cli(folder, 'deploy', '--prod', '--json');
    }
  },
  { timeout: 300_000 },
);

after(() => platform.close());

const containerOf = async (service: string): Promise<string> =>
  (await platform.compose('ps', '--quiet', service)).trim();

const operator = (...words: string[]): Promise<string> => platform.compose('run', '--rm', 'operator', ...words);

/** Requests that a handler has answered, by its private port. */
async function servedBy(service: string): Promise<number> {
  const script = `fetch('http://127.0.0.1:8081/_platform/status', { headers: { authorization: 'Bearer ' + process.env.PRIVATE_PORT_TOKEN } })
    .then((answer) => answer.json()).then(({ engines }) => console.log(engines.reduce((sum, { status }) => sum + (status?.joined?.requests ?? 0), 0)))`;
  return Number(await platform.engine.docker('exec', await containerOf(service), 'node', '-e', script));
}

test('every container has as few rights as it needs, bounds and a health check, and Caddy alone has published ports', async () => {
  const ids = (await platform.compose('ps', '--quiet')).trim().split('\n');
  const all = JSON.parse(await platform.engine.docker('inspect', ...ids)) as Json[];
  const published: string[] = [];
  for (const { Config: config, HostConfig: host, NetworkSettings: network } of all) {
    const service: string = config.Labels['com.docker.compose.service'];
    const isBuilder = service === 'builder';
    const isRoot = isBuilder || service === 'servers';
    const says = {
      user: config.User !== '' && config.User !== 'root' && !config.User.startsWith('0'),
      readOnly: host.ReadonlyRootfs,
      privileged: host.Privileged,
      escalates: !host.SecurityOpt.includes('no-new-privileges:true'),
      memory: host.Memory > 0,
      processes: host.PidsLimit > 0,
      health: config.Healthcheck?.Test?.length > 0,
    };
    const expected = { privileged: false, escalates: false, memory: true, processes: true, health: true };
    assert.deepEqual(says, { user: !isRoot, readOnly: !isBuilder, ...expected }, service);
    const added = { builder: BUILDER_RIGHTS, servers: SERVER_RIGHTS }[service] ?? [];
    assert.deepEqual((host.CapAdd ?? []).toSorted(), added, service);
    if (!['postgres', 'redis'].includes(service)) assert.deepEqual(host.CapDrop, ['ALL'], service);
    for (const [port, bindings] of Object.entries(network.Ports))
      if (bindings !== null) published.push(`${service} ${port}`);
  }
  assert.ok(all.length >= 9, String(all.length));
  assert.deepEqual(published.toSorted(), ['caddy 3002/tcp', 'caddy 3005/tcp', 'caddy 4001/tcp', 'caddy 4002/tcp']);
});

test('code that broke out of its isolate finds no secret of the control plane in a handler, and can change no route', async () => {
  const handler = await containerOf('handler');
  const { settings, token } = platform;
  const inHandler = (script: string, ...words: string[]): Promise<string> =>
    platform.engine.docker('exec', handler, 'node', '-e', script, ...words);
  const foreign = [
    'SQLDB_PASSWORD',
    'SANDBOX_SQLDB_PASSWORD',
    'CACHE_PASSWORD',
    'AUTH_SECRET',
    'ENCRYPTION_KEY',
    'WEB_TOKEN',
  ];
  // Its own, too: the search finds what is there.
  const wanted = { ...Object.fromEntries([...foreign, 'ENGINE_SECRET'].map((name) => [name, settings[name]])), token };
  for (const [name, value] of Object.entries(wanted)) assert.ok(value!.length >= 32, name);
  const found = JSON.parse(await inHandler(SEARCH, JSON.stringify(wanted)));
  assert.deepEqual(found.secrets, ['ENGINE_SECRET']);
  assert.ok(found.files > 200 && found.processes >= 4, JSON.stringify(found));
  // The engine, which shares its memory with such code, has less than its container.
  assert.ok(found.engine.includes('ENGINE_DATABASE_URL'), String(found.engine));
  const ofOthers =
    /^(?:ENCRYPTION_KEY|AUTH_SECRET|WEB_TOKEN|PRIVATE_PORT_TOKEN|DATABASE_URL|CACHE_URL|GITHOST_|BACKUP_|SQLDB_)/;
  assert.deepEqual(
    found.engine.filter((name: string) => ofOthers.test(name)),
    [],
  );

  const list = await inHandler(`console.log(require('node:fs').readdirSync('/data').join())`);
  assert.equal(list.trim(), 'artifacts,edge,files,routes');
  for (const folder of ['/data', '/data/artifacts', '/data/routes', '/opt/platform'])
    await assert.rejects(
      inHandler(`require('node:fs').writeFileSync(process.argv[1] + '/one.json', '')`, folder),
      /EROFS/,
    );
  // The API has what was looked for.
  const api = await platform.engine.docker('exec', await containerOf('api'), 'ls', '/data/secrets');
  assert.match(api, /first-run-token/);
  const internal = await platform.engine
    .docker('exec', await containerOf('internal'), 'ls', '-A', '/data/secrets')
    .catch((error: Error) => error.message);
  assert.doesNotMatch(internal, /first-run-token/);
});

test('a deployment is known to all handlers, and each host has one of them', async () => {
  for (const name of PROJECTS) assert.equal((await platform.open(name)).text, name);
  const loads = PROJECTS.map((name) =>
    startSteadyLoad({ port: platform.ports.handler, host: `${name}.localhost`, perSecond: 20 }),
  );
  await eventually('500 answers', async () => loads.every(({ answered }) => answered > 80));
  await Promise.all(loads.map((load) => load.stop()));
  assert.deepEqual(
    loads.flatMap(({ failures }) => failures),
    [],
  );
  const served = await Promise.all(['handler', 'handler-2', 'handler-3'].map(servedBy));
  console.log(`Requests by handler: ${served.join(', ')}`);
  assert.ok(served.filter((count) => count > 0).length >= 2, served.join());
});

test('one server for Node answers for all handlers, and none of them replaces its sockets', async () => {
  const folder = path.join(platform.folder, 'node');
  const began = `const began = String(process.hrtime.bigint()); globalThis.routes = { '/': (_, response) => response.end(began) };`;
  const files = { ...ssrApp(began), 'platform.yaml': 'name: node\nkind: ssr\nbuild: "true"\n' };
  for (const [file, text] of Object.entries(files)) {
    mkdirSync(path.dirname(path.join(folder, file)), { recursive: true });
    writeFileSync(path.join(folder, file), text);
  }
  await platform.cli(folder, 'deploy', '--prod', '--json');
  const ask = `require('node:http').get({ port: 4001, headers: { host: 'node.localhost' } }, (answer) => answer.pipe(process.stdout))`;
  const said: string[] = [];
  for (const service of ['handler', 'handler-2', 'handler-3']) {
    const id = await containerOf(service);
    said.push(await platform.engine.docker('exec', id, 'node', '-e', ask));
    const replace = `require('node:fs').renameSync('/run/servers/ssr.sock', '/run/servers/calls-mine')`;
    await assert.rejects(platform.engine.docker('exec', id, 'node', '-e', replace), /EPERM/);
  }
  assert.match(said[0]!, /^\d+$/);
  assert.deepEqual(said, [said[0], said[0], said[0]]);
});

test('the container of the operator backs up what lies in all volumes', async () => {
  const said = await operator('backup', '--out', '/data/backups/');
  assert.match(said, new RegExp(`Backed up .* to /data/backups/[^]* ${PROJECTS.length + 1} artifacts`));
});

test('one of them is killed, and only what was in flight there is lost', async () => {
  const each = Math.ceil(PER_SECOND / PROJECTS.length);
  const loads = PROJECTS.map((name) =>
    startSteadyLoad({ port: platform.ports.handler, host: `${name}.localhost`, perSecond: each }),
  );
  const answered = (): number => loads.reduce((sum, load) => sum + load.answered, 0);
  const more = (count: number): Promise<unknown> => {
    const until = answered() + count;
    return eventually(`${count} answers`, async () => answered() >= until);
  };
  await more(1000);
  const served = await Promise.all(['handler', 'handler-2', 'handler-3'].map(servedBy));
  const victim = ['handler', 'handler-2', 'handler-3'][served.indexOf(Math.max(...served))]!;
  const id = await containerOf(victim);
  await platform.engine.docker('kill', '--signal', 'KILL', id);
  await more(3000);
  const lost = loads.flatMap(({ failures }) => failures);
  await platform.engine.docker('start', id);
  await eventually(
    'The handler again',
    async () =>
      (await platform.engine.docker('inspect', '--format', '{{.State.Health.Status}}', id)).trim() === 'healthy',
  );
  await more(2000);
  await Promise.all(loads.map((load) => load.stop()));
  const failures = loads.flatMap((load: Json) => load.failures as string[]);
  console.log(
    `${victim} killed: ${loads.reduce((sum, { sent }) => sum + sent, 0)} sent at ${PER_SECOND}/s, ${lost.length} lost, ${failures.length - lost.length} lost when it came back`,
  );
  assert.ok(lost.length <= IN_FLIGHT_MAX, lost.slice(0, 5).join('\n'));
  assert.deepEqual(failures.slice(lost.length, lost.length + 5), []);
  const moments = lost.map((failure) => Number(failure.split(' ', 1)[0]));
  assert.ok(moments.length === 0 || Math.max(...moments) - Math.min(...moments) < 2000, lost.join('\n'));
});

test('the container of the operator restores a backup over the volumes, and sets aside what was there', async () => {
  const { location } = JSON.parse(await operator('backup', '--out', '/data/backups/', '--json'));
  const folder = path.join(platform.folder, 'two');
  writeFileSync(path.join(folder, 'src/index.ts'), `export default { fetch: () => new Response('later') };\n`);
  await platform.cli(folder, 'deploy', '--prod', '--json');
  assert.equal((await platform.open('two')).text, 'later');
  const parts = ['handler', 'handler-2', 'handler-3', 'internal', 'api', 'web', 'builder'];
  await platform.compose('stop', ...parts);
  const { aside } = JSON.parse(await operator('restore', location, '--force', '--yes', '--json'));
  await platform.up();
  for (const name of PROJECTS) assert.equal((await platform.open(name)).text, name);
  const before = await platform.engine.docker('exec', await containerOf('api'), 'ls', aside);
  assert.match(before, /^artifacts$[^]*^routes$/m);
});
