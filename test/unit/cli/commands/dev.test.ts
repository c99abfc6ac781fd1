// `platform dev` over a real project folder and the real builder; the engine only records what it is given to serve.
import assert from 'node:assert/strict';
import { existsSync, mkdirSync, mkdtempSync, readFileSync, renameSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { test, type TestContext } from 'node:test';
import { runDev, type DevFlags, type StartDev } from '#cli/commands/dev.ts';
import type { DevDeployment, DevOptions } from '#runtime/dev/contract/dev-engine.ts';
import { recordingShell, type RecordingShell } from '../recording-shell.ts';

const worker = (text: string): string => `export default { fetch: () => new Response(${JSON.stringify(text)}) };\n`;

interface Running {
  readonly folder: string;
  readonly shell: RecordingShell;
  readonly ended: Promise<number>;
  readonly opened: DevOptions[];
  write(name: string, text: string): void;
  /** The next deployment that was not taken yet: its bundle and variables. */
  next(): Promise<{ code: string; deployment: DevDeployment }>;
  /** Settles when a line of standard error matches. */
  complaint(pattern: RegExp): Promise<string>;
  /** What requests are answered with while nothing is served. */
  readonly unbuilt: string[];
}

function running(t: TestContext, files: Record<string, string>, flags: DevFlags = {}, env = {}): Running {
  const folder = mkdtempSync(path.join(tmpdir(), 'dev-'));
  const write = (name: string, text: string): void => {
    mkdirSync(path.dirname(path.join(folder, name)), { recursive: true });
    writeFileSync(path.join(folder, name), text);
  };
  for (const [name, text] of Object.entries(files)) write(name, text);
  const recording = recordingShell(folder, env);
  const complaints: { pattern: RegExp; resolve: (line: string) => void }[] = [];
  const shell: RecordingShell = {
    ...recording,
    err(line) {
      recording.err(line);
      for (const { pattern, resolve } of complaints) if (pattern.test(line)) resolve(line);
    },
  };
  const deployments: { code: string; deployment: DevDeployment }[] = [];
  const takers: ((taken: { code: string; deployment: DevDeployment }) => void)[] = [];
  const opened: DevOptions[] = [];
  const unbuilt: string[] = [];
  const startDev: StartDev = (options) => {
    opened.push(options);
    return Promise.resolve({
      port: options.port,
      deploy(deployment) {
        const made = { code: readFileSync(path.join(deployment.artifactFolder, 'worker.js'), 'utf8'), deployment };
        const taker = takers.shift();
        if (taker) taker(made);
        else deployments.push(made);
        return Promise.resolve();
      },
      fail: (errors) => void unbuilt.push(errors[0]!.message),
      close: () => Promise.resolve(),
    });
  };
  const ended = runDev(shell, flags, startDev);
  ended.catch(() => {});
  t.after(async () => {
    shell.stop();
    await ended.catch(() => {});
    rmSync(folder, { recursive: true });
  });
  return {
    folder,
    shell,
    ended,
    opened,
    unbuilt,
    write,
    next: () =>
      new Promise((resolve) => {
        const made = deployments.shift();
        if (made) resolve(made);
        else takers.push(resolve);
      }),
    complaint: (pattern) =>
      new Promise((resolve) => {
        const said = recording.errors.find((line) => pattern.test(line));
        if (said !== undefined) resolve(said);
        else complaints.push({ pattern, resolve });
      }),
  };
}

test('the first build is served on the defaults, and a save is served after it', async (t) => {
  const dev = running(t, { 'src/index.ts': worker('one') });
  assert.match((await dev.next()).code, /one/);
  assert.equal(dev.opened[0]!.port, 3000);
  assert.equal(dev.opened[0]!.host, 'localhost');
  dev.write('src/index.ts', worker('two'));
  assert.match((await dev.next()).code, /two/);
  dev.shell.stop();
  assert.equal(await dev.ended, 0);
  assert.match(dev.shell.output[0]!, /^Ready http:\/\/localhost:3000 in \d+ ms$/);
  assert.equal(dev.shell.output[1], 'Reloaded');
});

test('flags win over dev of platform.yaml, which wins over the defaults', async (t) => {
  const files = { 'platform.yaml': 'kind: worker\ndev: {port: 4100, host: 127.0.0.1}\n', 'src/index.ts': worker('x') };
  const plain = running(t, files);
  await plain.next();
  assert.deepEqual([plain.opened[0]!.port, plain.opened[0]!.host], [4100, '127.0.0.1']);
  const flagged = running(t, files, { port: '4200', host: '::1' });
  await flagged.next();
  assert.deepEqual([flagged.opened[0]!.port, flagged.opened[0]!.host], [4200, '::1']);
});

test('the dashboard is a thousand ports above, unless its flag says otherwise', async (t) => {
  const files = { 'src/index.ts': worker('x') };
  const cases = [
    [{}, 4000],
    [{ port: '0' }, 0],
    [{ port: '65000' }, 0],
    [{ 'dashboard-port': '4321' }, 4321],
  ] as const;
  for (const [flags, dashboardPort] of cases) {
    const dev = running(t, files, flags);
    await dev.next();
    assert.equal(dev.opened[0]!.dashboardPort, dashboardPort);
  }
});

test('variables come from .env, .env.local and .dev.vars and are swapped in when they change', async (t) => {
  const dev = running(t, { 'src/index.ts': worker('x'), '.env': 'A=1\nB=1\n', '.dev.vars': 'B=2\n' });
  assert.deepEqual((await dev.next()).deployment.vars, { A: '1', B: '2' });
  dev.write('.env', 'A=3\n');
  assert.deepEqual((await dev.next()).deployment.vars, { A: '3', B: '2' });
  dev.write('.env.local', 'A=4\nB=4\n');
  assert.deepEqual((await dev.next()).deployment.vars, { A: '4', B: '2' });
});

test('env.d.ts of `platform types` follows platform.yaml, and a file of somebody else is kept', async (t) => {
  const old = '// Generated by `platform types` from platform.yaml.\n// hash: 0000000000000000\n';
  const dev = running(t, { 'src/index.ts': worker('x'), 'platform.yaml': 'kind: worker\n', 'env.d.ts': old });
  const types = (): string => readFileSync(path.join(dev.folder, 'env.d.ts'), 'utf8');
  await dev.next();
  assert.match(types(), /interface PlatformEnv/);
  assert.doesNotMatch(types(), /MAIL/);
  dev.write('platform.yaml', 'kind: worker\nqueue: { MAIL: mail }\n');
  await dev.next();
  assert.match(types(), /MAIL: import\('@platform-run\/types'\)\.QueueBinding;/);
  assert.equal(dev.shell.output.filter((line) => line === 'Wrote env.d.ts').length, 2);

  const own = running(t, { 'src/index.ts': worker('x'), 'platform.yaml': 'kind: worker\n', 'env.d.ts': '// mine\n' });
  await own.next();
  assert.equal(readFileSync(path.join(own.folder, 'env.d.ts'), 'utf8'), '// mine\n');
});

test('a changed static file is served without a change of the worker', async (t) => {
  const dev = running(t, { 'src/index.ts': worker('x'), 'public/a.txt': 'old' });
  const first = await dev.next();
  assert.equal(readFileSync(path.join(first.deployment.artifactFolder, 'assets/a.txt'), 'utf8'), 'old');
  dev.write('public/a.txt', 'new');
  const second = await dev.next();
  assert.equal(readFileSync(path.join(second.deployment.artifactFolder, 'assets/a.txt'), 'utf8'), 'new');
});

test('a syntax error is told with its frame, the old code stays, and its repair is served', async (t) => {
  const dev = running(t, { 'src/index.ts': worker('good') });
  await dev.next();
  dev.write('src/index.ts', 'export default {\n  fetch( }\n');
  assert.match(await dev.complaint(/src\/index\.ts:2:/), /> 2 \|   fetch\( \}/);
  await dev.complaint(/^Still serving the last successful build$/);
  // For pages of what the old code throws.
  assert.deepEqual(dev.unbuilt, ['Unexpected token']);
  dev.write('src/index.ts', worker('repaired'));
  assert.match((await dev.next()).code, /repaired/);
});

test('a broken platform.yaml at the start is told, and its repair is served', async (t) => {
  const dev = running(t, { 'platform.yaml': 'kind: [\n', 'src/index.ts': worker('x') });
  await dev.complaint(/^error platform\.yaml:\d+:\d+: /);
  dev.write('platform.yaml', 'kind: worker\n');
  assert.match((await dev.next()).code, /x/);
});

test('a broken platform.yaml is told once, whatever else is saved, and again when something else is wrong with it', async (t) => {
  const dev = running(t, { 'platform.yaml': 'kind: nothing\n', 'src/index.ts': worker('x') });
  await dev.complaint(/^error platform\.yaml:1:7: /);
  await dev.complaint(/^http:\/\/localhost:3000 shows this error until it is fixed$/);
  for (const name of ['src/index.ts', 'notes.txt', 'dev.log']) dev.write(name, 'x');
  dev.write('platform.yaml', 'kind: worker\nqueue: 5\n');
  await dev.complaint(/^error platform\.yaml:2:8: /);
  assert.equal(dev.shell.errors.filter((line) => line.startsWith('error ')).length, 2, dev.shell.errors.join('\n'));
  assert.ok(dev.unbuilt.length >= 2);
});

test('a warning about platform.yaml is told once', async (t) => {
  const dev = running(t, {
    'platform.yaml': 'kind: worker\ncompatibility_flags: [nodejs_compat, nodejs_compat]\n',
    'src/index.ts': worker('one'),
  });
  await dev.next();
  dev.write('platform.yaml', 'kind: worker\ncompatibility_flags: [nodejs_compat, nodejs_compat]\n\n');
  await dev.next();
  assert.equal(dev.shell.errors.length, 1, dev.shell.errors.join('\n'));
});

test('a removed variable is reported once', async (t) => {
  const dev = running(t, { 'src/index.ts': worker('one') }, {}, { DASHBOARD_RECORDS_MAX: '5' });
  await dev.next();
  dev.write('src/index.ts', worker('two'));
  await dev.next();
  assert.deepEqual(dev.shell.errors, ['DASHBOARD_RECORDS_MAX is no longer a setting: its value is 1000']);
});

test('a platform.yaml that is deleted, or replaced as editors do, is read again', async (t) => {
  const files = {
    'platform.yaml': 'main: src/other.ts\n',
    'src/index.ts': worker('index'),
    'src/other.ts': worker('other'),
  };
  const dev = running(t, files);
  assert.match((await dev.next()).code, /other/);
  rmSync(path.join(dev.folder, 'platform.yaml'));
  assert.match((await dev.next()).code, /index/);
  dev.write('platform.yaml~', 'main: src/other.ts\n');
  renameSync(path.join(dev.folder, 'platform.yaml~'), path.join(dev.folder, 'platform.yaml'));
  assert.match((await dev.next()).code, /other/);
});

test('folders that are made later are served: static files, migrations, sources', async (t) => {
  const dev = running(t, { 'platform.yaml': 'db: { DB: main }\n', 'src/index.ts': worker('one') });
  await dev.next();
  dev.write('public/deep/a.txt', 'a');
  assert.equal(readFileSync(path.join((await dev.next()).deployment.artifactFolder, 'assets/deep/a.txt'), 'utf8'), 'a');
  dev.write('migrations/001.sql', 'CREATE TABLE t (a)');
  let migrations = (await dev.next()).deployment.migrations;
  while (migrations.length === 0) ({ migrations } = (await dev.next()).deployment);
  assert.deepEqual(
    migrations[0]!.files.map(([name]) => name),
    ['001.sql'],
  );
  dev.write('src/new/text.ts', "export const text = 'from a new folder';");
  dev.write(
    'src/index.ts',
    "import { text } from './new/text.ts';\nexport default { fetch: () => new Response(text) };",
  );
  for (;;) if ((await dev.next()).code.includes('from a new folder')) break;
  dev.write('src/new/text.ts', "export const text = 'saved again';");
  for (;;) if ((await dev.next()).code.includes('saved again')) break;
});

test('of two saves in quick succession the second is served', async (t) => {
  const dev = running(t, { 'src/index.ts': worker('one') });
  await dev.next();
  dev.write('src/index.ts', worker('two'));
  dev.write('src/index.ts', worker('three'));
  for (;;) if ((await dev.next()).code.includes('three')) break;
  dev.write('src/index.ts', worker('four'));
  for (;;) if ((await dev.next()).code.includes('four')) break;
  assert.deepEqual(dev.shell.errors, []);
});

test('an entry that does not exist yet is waited for', async (t) => {
  const dev = running(t, { 'platform.yaml': 'kind: worker\n' });
  await dev.complaint(/No worker entry found/);
  dev.write('src/index.ts', worker('created'));
  assert.match((await dev.next()).code, /created/);
});

test('a change of main moves the watch to the new entry', async (t) => {
  const dev = running(t, {
    'platform.yaml': 'kind: worker\n',
    'src/index.ts': worker('one'),
    'src/other.ts': worker('other'),
  });
  await dev.next();
  dev.write('platform.yaml', 'kind: worker\nmain: src/other.ts\n');
  assert.match((await dev.next()).code, /other/);
  dev.write('src/other.ts', worker('otherwise'));
  assert.match((await dev.next()).code, /otherwise/);
});

test('with --no-watch a broken build ends the command', async (t) => {
  const dev = running(t, { 'src/index.ts': 'export default {' }, { watch: false });
  await assert.rejects(dev.ended, { name: 'BuildError' });
});

test('a request or event is a line with what became of it, wall time and of that CPU; the worker logs beside it', async (t) => {
  const dev = running(t, { 'src/index.ts': worker('x') });
  await dev.next();
  const fine = { event: null, outcome: 'ok', reason: '' };
  dev.opened[0]!.onRequest({
    kind: 'http',
    method: 'GET',
    path: '/a?b=1',
    status: 200,
    ...fine,
    cpuMs: 0.42,
    wallMs: 1.24,
  });
  const mail = {
    kind: 'queue',
    method: '',
    path: '',
    status: 0,
    event: { name: 'mail', id: '', attempt: 2, attemptsMax: 4 },
  } as const;
  dev.opened[0]!.onRequest({ ...mail, outcome: 'ok', reason: '', cpuMs: 3.2, wallMs: 12.3 });
  dev.opened[0]!.onRequest({
    ...mail,
    outcome: 'worker_threw',
    reason: 'no such\n\u001b[2Jmailbox',
    cpuMs: 0.2,
    wallMs: 3,
  });
  dev.opened[0]!.log({ level: 'warn', message: 'careful' });
  dev.opened[0]!.log({ level: 'debug', message: 'unseen' });
  assert.ok(dev.shell.output.includes('GET /a?b=1 200 1.2 ms (CPU 0.4 ms)'), dev.shell.output.join('\n'));
  assert.ok(dev.shell.output.includes('queue ok mail 12 ms (CPU 3.2 ms)'), dev.shell.output.join('\n'));
  assert.ok(
    dev.shell.output.includes('queue error mail (attempt 2 of 4): no such [2Jmailbox 3.0 ms (CPU 0.2 ms)'),
    dev.shell.output.join('\n'),
  );
  assert.deepEqual(dev.shell.errors, ['warn careful']);
});

test('an error of a table that does not exist says how tables are created', async (t) => {
  const dev = running(t, { 'src/index.ts': worker('x') });
  await dev.next();
  const message = 'Uncaught Error: D1_ERROR: no such table: notes: SQLITE_ERROR';
  dev.opened[0]!.log({ level: 'error', message: `${message}\n    at src/index.ts:1:2` });
  assert.equal(
    dev.shell.errors.at(-1),
    'The table notes does not exist: create it by a migration, a .sql file in migrations/',
  );
});

test('a port that is taken names the flag that helps', async (t) => {
  const folder = mkdtempSync(path.join(tmpdir(), 'dev-'));
  t.after(() => rmSync(folder, { recursive: true }));
  const taken: StartDev = () => Promise.reject(Object.assign(new Error('listen'), { code: 'EADDRINUSE' }));
  await assert.rejects(runDev(recordingShell(folder), { port: '3000' }, taken), {
    message: 'Port 3000 of localhost is already in use',
    advice: 'Stop that program, or choose another port: --port 3001',
  });
});

test('a configuration file that was named and does not exist is a wrong call', async () => {
  const never: StartDev = () => Promise.reject(new Error('opened'));
  await assert.rejects(runDev(recordingShell(tmpdir()), { config: 'nowhere.yaml' }, never), { exitCode: 2 });
});

test('a stop ends a build that runs, with all that it started, and one that does not listen', async (t) => {
  for (const build of ['sleep 600 & echo $! > pid; wait', "trap '' TERM; sleep 600 & echo $! > pid; wait; wait"]) {
    const dev = running(t, { 'platform.yaml': `kind: worker\nbuild: "${build}"\n`, 'src/index.ts': worker('x') });
    const file = path.join(dev.folder, 'pid');
    while (!existsSync(file) || readFileSync(file, 'utf8') === '')
      await new Promise((resolve) => setImmediate(resolve));
    dev.shell.stop();
    // What is still there holds the pipe of its output, and would be waited for.
    assert.equal(await dev.ended, 0);
    assert.deepEqual(dev.shell.errors, []);
  }
});
