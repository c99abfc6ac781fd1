// Plants a secret of each kind in a sandbox of the real service, and looks for it everywhere but where it belongs: what
// processes show, what the engine says and keeps, images, logs, disks, the database and a backup. Beside them lies a
// text that has to be found in each of these places.
import assert from 'node:assert/strict';
import { fork, type ChildProcess } from 'node:child_process';
import { randomBytes } from 'node:crypto';
import { once } from 'node:events';
import { mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { test } from 'node:test';
import { root } from '#cli/tasks/tools/processes.ts';
import { openArchiveFile } from '#operations/archive/archive-file.ts';
import { openBackup } from '#operations/archive/reader.ts';
import { makeBackup } from '#operations/backup/backup.ts';
import { parseTarget } from '#operations/backup/target.ts';
import { locationsOf } from '#operations/locations.ts';
import { openSandboxRole } from '#postgres/sandbox-role.ts';
import { openEngineApi, type EngineApi } from '#sandbox/backends/container/engine-api.ts';
import { openDatabase } from '#test/setup/ai-accounts.ts';
import { freePort } from '#test/setup/free-port.ts';
import { engineName, socketPath } from '#test/setup/sandbox-containers.ts';
import { SANDBOX_IMAGE } from '#test/setup/sandbox-engine.ts';
import { createSecretsSearch } from '#test/setup/secrets-search.ts';
import { eventually } from '#test/setup/whole-platform.ts';

const COMMITTED = 'platform-test-committed:latest';
/** Keeps git waiting, so that it can be looked at. */
const SILENT_SERVER = `require('http').createServer(() => {}).listen(18090, '127.0.0.1')`;
const NODE = '/opt/platform-sandbox/node';

test(`${engineName}: no secret is found outside of where it belongs`, async (t) => {
  const mark = randomBytes(8).toString('hex');
  const control = `control${mark}`;
  const secrets = {
    'a variable of a call': `one${mark}call`,
    setEnvVars: `two${mark}later`,
    'a password of Git': `three${mark}git`,
    SANDBOX_AUTH_TOKEN: `four${mark}${mark}auth`,
  };
  const search = createSecretsSearch();
  const begun = new Date();
  search.add('control', control);
  for (const [name, text] of Object.entries(secrets)) search.add(name, text);
  const encoded = Buffer.from(`me:${secrets['a password of Git']}`).toString('base64').replaceAll('=', '');
  search.add('credentials of Git', encoded);

  const folder = mkdtempSync(path.join(tmpdir(), 'sandbox-secrets-'));
  const database = await openDatabase();
  const url = await openSandboxRole(database.sql, database.url);
  search.add('password of the database', decodeURIComponent(new URL(url).password));
  const api = openEngineApi(socketPath);
  const port = await freePort();
  const service = fork(path.join(root, 'sandbox/main.ts'), {
    env: {
      PATH: process.env['PATH'],
      FS_PATH: folder,
      SANDBOX_AUTH_TOKEN: secrets.SANDBOX_AUTH_TOKEN,
      SANDBOX_DATABASE_URL: url,
      SANDBOX_DEFAULT_IMAGE: SANDBOX_IMAGE,
      SANDBOX_PORT: String(port),
      SANDBOX_DISK_MB: '64',
      SANDBOX_AI_URL: 'http://127.0.0.1:1/ai',
      SANDBOX_LOG_EXEC: '1',
      DOCKER_HOST: `unix://${socketPath}`,
      LOG_FORMAT: 'json',
      LOG_LEVEL: 'debug',
    },
    execArgv: ['--disable-warning=ExperimentalWarning'],
    stdio: ['ignore', 'pipe', 'pipe', 'ipc'],
  });
  let log = '';
  for (const stream of [service.stdout!, service.stderr!]) stream.on('data', (chunk) => (log += String(chunk)));
  const gone = new AbortController();
  t.after(async () => {
    gone.abort();
    await call(port, secrets.SANDBOX_AUTH_TOKEN, 'destroy', {}, control).catch(() => {});
    await ended(service);
    await api.call('DELETE', `/images/${COMMITTED}?force=true`).catch(() => {});
    api.close();
    await database.close();
    rmSync(folder, { recursive: true });
  });
  const [ready] = (await Promise.race([once(service, 'message'), once(service, 'exit')])) as [{ type?: string }];
  assert.equal(ready?.type, 'ready', log);
  /** The sandbox's id is the control: it stands in labels and rows. */
  const ask = (operation: string, body: object = {}, signal?: AbortSignal): Promise<Buffer> =>
    call(port, secrets.SANDBOX_AUTH_TOKEN, operation, body, control, signal);

  await ask('setEnvVars', { variables: { LATER: secrets.setEnvVars } });
  const token = String(await ask('readFile', { path: '/run/platform/ai-token' }));
  assert.match(token, /^pk_ai_/);
  search.add('the AI token', token);
  const sleep = `sleep 4719; : ${control}`;
  await ask('startProcess', {
    command: ['sh', '-c', sleep],
    env: { ONE: secrets['a variable of a call'], TWO: control },
  });
  await ask('exec', { command: `echo ${control} | tee note`, env: { ONE: secrets['a variable of a call'] } });
  await ask('startProcess', { command: [NODE, '-e', SILENT_SERVER] });
  await ask('waitForPort', { port: 18090 });
  const repository = `http://me:${secrets['a password of Git']}@127.0.0.1:18090/${mark}.git`;
  const checkout = ask('gitCheckout', { url: repository }, gone.signal).catch(() => {});
  const isGit = (line: string): boolean =>
    line.includes('include.path=/run/platform/git-') && line.includes(`${mark}.git`);
  await eventually('git', async () => commandLines().some(isGit));

  // While it runs.
  const isInside = (environment: string): boolean => environment.split('\0').includes('HOME=/workspace');
  await search.processes('command lines', 'cmdline');
  await search.processes('environments in sandboxes', 'environ', isInside);
  const inside = await ask('exec', { command: 'cat /proc/[0-9]*/cmdline | tr "\\0" " " > seen' });
  assert.match(String(inside), /"success":true/);
  await search.bytes('command lines as a sandbox sees them', await ask('readFile', { path: 'seen' }));
  await ask('deleteFile', { path: 'seen' });
  const [container] = await containersOf(api);
  await search.bytes('docker inspect', JSON.stringify(await api.call('GET', `/containers/${container}/json`)));
  await search.bytes('what the engine lists', JSON.stringify(await everything(api)));
  for (const what of ['history', 'json'])
    await search.bytes('the image of sandboxes', await imageOf(api, SANDBOX_IMAGE, what));
  await search.bytes('logs of the container', await logsOf(api, container!));
  // Its system is read-only, so the text is put beneath it.
  const written = await layerOf(api, `/containers/${container}/json`);
  writeFileSync(path.join(written, 'control'), control);
  await search.files('what it wrote to its system', written);
  const [repo, tag] = COMMITTED.split(':');
  await api.call('POST', `/commit?container=${container}&repo=${repo}&tag=${tag}&pause=false`, {});
  await search.files('the layer of an image made of it', await layerOf(api, `/images/${COMMITTED}/json`));
  for (const what of ['history', 'json'])
    await search.bytes('an image made of it', await imageOf(api, COMMITTED, what));
  const searched = new Date();
  await search.files('files of the engine', path.dirname(socketPath), begun);

  // When it stands still, and has failed.
  gone.abort();
  await checkout;
  await ask('gitCheckout', { url: repository.replace('18090', '1') }).catch(() => {});
  await ask('exec', { command: 'exit 1', env: { 'no name': secrets['a variable of a call'] } }).catch(() => {});
  await ask('suspend');
  await ask('stop');
  await search.files('data folder, with disks', folder);
  writeFileSync(path.join(path.dirname(socketPath), 'control'), control);
  await search.files('files of the engine, afterwards', path.dirname(socketPath), searched);
  await ended(service);
  await search.bytes('log of the service', log);
  for await (const part of backupOf(folder, database.url)) await search.bytes('a backup, with all tables', part);

  const outcome = Object.fromEntries([...search.found].map(([name, places]) => [name, [...places].toSorted()]));
  assert.deepEqual(outcome, {
    // It can be found: in each place that it was put into.
    control: [
      'a backup, with all tables',
      'an image made of it',
      'command lines',
      'command lines as a sandbox sees them',
      'data folder, with disks',
      'docker inspect',
      'environments in sandboxes',
      'files of the engine',
      'files of the engine, afterwards',
      'log of the service',
      'the layer of an image made of it',
      'what it wrote to its system',
      'what the engine lists',
    ],
    // Where they belong.
    'a variable of a call': ['environments in sandboxes'],
    setEnvVars: ['environments in sandboxes'],
  });
});

function commandLines(): string[] {
  return readdirSync('/proc')
    .filter((name) => /^\d+$/.test(name))
    .map((pid) => {
      try {
        return readFileSync(`/proc/${pid}/cmdline`, 'latin1');
      } catch {
        return '';
      }
    });
}

async function containersOf(api: EngineApi): Promise<string[]> {
  const all = await api.call<{ Id: string }[]>('GET', '/containers/json?all=1');
  return all.map(({ Id }) => Id);
}

async function everything(api: EngineApi): Promise<unknown[]> {
  return Promise.all(
    ['/containers/json?all=1', '/volumes', '/images/json', '/networks'].map((what) => api.call('GET', what)),
  );
}

/** Sandboxes have none: an engine says so. */
async function logsOf(api: EngineApi, container: string): Promise<string> {
  return api.call('GET', `/containers/${container}/logs?stdout=1&stderr=1`).then(
    (answer) => JSON.stringify(answer),
    (error: Error) => error.message,
  );
}

async function imageOf(api: EngineApi, image: string, what: string): Promise<string> {
  return JSON.stringify(await api.call('GET', `/images/${encodeURIComponent(image)}/${what}`));
}

/** The folder of what a container or an image has beyond what it was made of. */
async function layerOf(api: EngineApi, target: string): Promise<string> {
  const { GraphDriver } = await api.call<{ GraphDriver: { Data: { UpperDir: string } } }>('GET', target);
  const folder = GraphDriver.Data.UpperDir;
  assert.ok(folder.startsWith(`${path.dirname(socketPath)}/`), folder);
  return folder;
}

/** What a backup of the platform has, part by part, as `platform restore` reads it. */
async function* backupOf(folder: string, url: string): AsyncGenerator<AsyncIterable<Uint8Array>> {
  const environment = { DATABASE_URL: url };
  const file = path.join(mkdtempSync(path.join(tmpdir(), 'sandbox-backup-')), 'platform.backup');
  try {
    const { location } = await makeBackup({
      locations: locationsOf(environment, folder),
      target: parseTarget(file, folder, environment),
      passphrase: null,
      withKeys: false,
      withBucket: false,
      version: 'test',
    });
    const backup = await openBackup(await openArchiveFile(location), null);
    for (const part of backup.manifest.parts) yield backup.read(part);
    await backup.close();
  } finally {
    rmSync(path.dirname(file), { recursive: true });
  }
}

/** @returns the body of the answer. @throws what it was refused with. */
async function call(
  port: number,
  token: string,
  operation: string,
  body: object,
  id: string,
  signal?: AbortSignal,
): Promise<Buffer> {
  const answer = await fetch(`http://127.0.0.1:${port}/v1/projects/shop/sandboxes/work/${id}/${operation}`, {
    method: 'POST',
    headers: { authorization: `Bearer ${token}` },
    body: JSON.stringify(body),
    ...(signal === undefined ? {} : { signal }),
  });
  const said = Buffer.from(await answer.arrayBuffer());
  if (answer.status !== 200) throw new Error(`${operation}: ${said.toString()}`);
  return said;
}

async function ended(service: ChildProcess): Promise<void> {
  if (service.exitCode !== null || service.signalCode !== null) return;
  service.kill('SIGTERM');
  await once(service, 'exit');
}
