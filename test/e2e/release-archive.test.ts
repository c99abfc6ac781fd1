// A release archive: the same bytes each time, installed by install.sh without Node and npm, upgraded, rolled back,
// uninstalled; and its Debian package.
import assert from 'node:assert/strict';
import { execFileSync, spawnSync } from 'node:child_process';
import { createHash, generateKeyPairSync, sign } from 'node:crypto';
import {
  chmodSync,
  chownSync,
  copyFileSync,
  existsSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  readlinkSync,
  renameSync,
  rmSync,
  writeFileSync,
} from 'node:fs';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { after, before, test } from 'node:test';
import { pack } from '#cli/tasks/pack.ts';
import { packArchive, type ArchiveSystem } from '#cli/tasks/release/archive.ts';
import { packDebian } from '#cli/tasks/release/debian.ts';
import { root } from '#cli/tasks/tools/processes.ts';
import { keepSocket } from '#test/setup/socket-keeper.ts';

const work = mkdtempSync(path.join(tmpdir(), 'archive-'));
const dist = path.join(work, 'dist');
const home = path.join(work, 'home');
const system = `${process.platform}-${process.arch}` as ArchiveSystem;
const { privateKey: key } = generateKeyPairSync('ed25519');
/** Without Node and npm, as a user: root would install for the whole machine. */
const environment = {
  HOME: home,
  PATH: '/usr/sbin:/usr/bin:/sbin:/bin',
  HANDLER_PORT: '0',
  HANDLER_PRIVATE_PORT: '0',
  API_PORT: '0',
  UI_PORT: '0',
  DOCS_PORT: 'off',
};
const user = process.getuid!() === 0 ? { uid: 65_534, gid: 65_534 } : {};
let archive: string;

function run(program: string, words: readonly string[]): { readonly status: number | null; readonly output: string } {
  const { status, stdout, stderr } = spawnSync(program, words, {
    ...user,
    cwd: home,
    env: environment,
    encoding: 'utf8',
  });
  return { status, output: stdout + stderr };
}

const install = (...words: string[]): ReturnType<typeof run> =>
  run('sh', [path.join(root, 'operations/install/install.sh'), ...words]);
const command = path.join(home, '.local/bin/platform');

before(async () => {
  const tarballs = await pack(dist);
  archive = await packArchive(dist, tarballs, system, key);
  chmodSync(work, 0o755);
  mkdirSync(home);
  if (user.uid !== undefined) chownSync(home, user.uid, user.gid);
});
after(() => rmSync(work, { recursive: true, force: true }));

test('two archives of a commit are equal', async () => {
  const first = readFileSync(`${archive}.sha256`, 'utf8');
  const again = await packArchive(
    dist,
    readdirSync(dist)
      .filter((name) => name.endsWith('.tgz'))
      .map((name) => path.join(dist, name)),
    system,
    key,
  );
  assert.equal(readFileSync(`${again}.sha256`, 'utf8'), first);
});

test('it has sqlite-vec of its system alone, and says under which license', () => {
  const files = execFileSync('tar', ['-tzf', archive], { encoding: 'utf8', maxBuffer: 67_108_864 }).split('\n');
  assert.deepEqual(
    files.filter((file) => /\/vec0\.\w+$/.test(file)).map((file) => path.basename(path.dirname(file))),
    [`sqlite-vec-${system}`],
  );
  const { packages } = JSON.parse(readFileSync(archive.replace(/\.tar\.gz$/, '.spdx.json'), 'utf8')) as {
    packages: readonly { readonly name: string; readonly licenseDeclared: string }[];
  };
  const found = packages.find(({ name }) => name === `sqlite-vec-${system}`);
  assert.equal(found?.licenseDeclared, 'MIT OR Apache-2.0');
});

test('a changed archive and an unknown option are refused, and nothing is written', () => {
  const changed = path.join(work, 'changed', path.basename(archive));
  mkdirSync(path.dirname(changed));
  const bytes = readFileSync(archive);
  bytes[1_000_000]! ^= 1;
  writeFileSync(changed, bytes);
  copyFileSync(`${archive}.sha256`, `${changed}.sha256`);
  assert.match(install(changed).output, /is damaged or was changed: its SHA-256 is not that of/);
  const { status, output } = install('--prefix', '/opt');
  assert.equal(status, 1);
  assert.match(output, /install\.sh: there is no option --prefix/);
  assert.deepEqual(readdirSync(home), []);
});

test('installed without Node and npm, it loses no request over an upgrade and a rollback, and leaves its data behind', async () => {
  const { status, output } = install('--no-service', '--key', path.join(dist, 'release.pub'), archive);
  assert.equal(status, 0, output);
  assert.match(output, /^Start it with `\S+\/platform start`\.$/m);
  assert.match(run(command, ['--help']).output, /^platform \d+\.\d+\.\d+: /);
  const made = run(command, ['init', 'worker', 'app']);
  assert.equal(made.status, 0, made.output);
  const deployed = run(command, ['deploy', 'app']);
  assert.equal(deployed.status, 0, deployed.output);
  const { HANDLER_PORT: _, ...env } = environment;
  const platform = await keepSocket([command, 'start'], { ...user, cwd: home, env });
  try {
    const [, api] = /^ {2}(http:\S+) is the API/m.exec(await platform.start())!;
    // Built by the platform, confined where the machine allows it, with the npm of the archive.
    const token = readFileSync(path.join(home, '.platform/data/secrets/first-run-token'), 'utf8').trim();
    const remote = `${api!.replace('//', `//x:${token}@`)}/git/pushed.git`;
    const manifest = path.join(home, 'app/package.json');
    const own = JSON.parse(readFileSync(manifest, 'utf8')) as object;
    const dependencies = { greeting: 'file:greeting' };
    writeFileSync(manifest, JSON.stringify({ ...own, dependencies, devDependencies: {} }));
    mkdirSync(path.join(home, 'app/greeting'));
    writeFileSync(
      path.join(home, 'app/greeting/package.json'),
      '{"name":"greeting","version":"1.0.0","main":"index.js"}',
    );
    writeFileSync(path.join(home, 'app/greeting/index.js'), "export const greeting = 'Hello from npm';");
    writeFileSync(
      path.join(home, 'app/src/index.ts'),
      "import { greeting } from 'greeting';\nexport default { fetch: () => new Response(greeting) };",
    );
    const commit = 'git -c user.name=ada -c user.email=ada@example.com commit --quiet --message=first';
    const script = `cd app && git init --quiet -b main && git add . && ${commit} && git push --quiet ${remote} main`;
    const pushed = run('sh', ['-c', script]);
    assert.equal(pushed.status, 0, pushed.output);
    assert.equal(await platform.ask('pushed'), 'Hello from npm');
    const answers = new Set<string>();
    let isOver = false;
    const asking = Array.from({ length: 4 }, async () => {
      while (!isOver) answers.add(await platform.ask('app'));
    });
    const release = (): string => readlinkSync(path.join(home, '.platform/current'));
    const first = release();
    await platform.stop();
    const upgraded = install('--no-service', await nextVersion());
    assert.match(upgraded.output, /^Upgraded \S+ to 9\.9\.9$/m);
    assert.match(release(), /^releases\/platform-9\.9\.9-/);
    await platform.start();
    await platform.stop();
    assert.match(install('--no-service', '--undo').output, /^ {2}The tables had not changed: no data was lost$/m);
    assert.equal(release(), first);
    await platform.start();
    assert.equal(await platform.ask('app'), 'Hello from app\n');
    isOver = true;
    await Promise.all(asking);
    assert.deepEqual([...answers], ['Hello from app\n']);
    await platform.stop();
  } finally {
    platform.close();
  }
  assert.match(install('--no-service', archive).output, /^platform-\S+ is installed already\.$/m);
  const gone = install('--uninstall');
  assert.equal(gone.status, 0, gone.output);
  // `local`: what commands know of platforms of this user.
  assert.deepEqual(readdirSync(path.join(home, '.platform')).sort(), ['data', 'local', 'platform.env']);
  assert.equal(existsSync(command), false);
});

test('the Debian package installs the archive that it holds, and its removal leaves the data', async () => {
  rmSync(path.join(home, '.platform'), { recursive: true });
  const installer = path.join(root, 'operations/install/install.sh');
  const debian = await packDebian(archive, installer, system, '0.0.1', 1_700_000_000);
  const bytes = readFileSync(debian);
  assert.deepEqual(readFileSync(await packDebian(archive, installer, system, '0.0.1', 1_700_000_000)), bytes);
  const files = path.join(home, 'root');
  for (const folder of ['updates', 'info', 'triggers'])
    mkdirSync(path.join(files, 'var/lib/dpkg', folder), { recursive: true });
  for (const name of ['status', 'available']) writeFileSync(path.join(files, 'var/lib/dpkg', name), '');
  if (user.uid !== undefined) spawnSync('chown', ['-R', `${user.uid}:${user.gid}`, files]);
  const dpkg = (...words: string[]): ReturnType<typeof run> =>
    run('dpkg', [`--root=${files}`, '--force-script-chrootless', '--force-not-root', '--force-depends', ...words]);
  const installed = dpkg('--force-bad-path', '--install', debian);
  assert.equal(installed.status, 0, installed.output);
  assert.match(run(command, ['--help']).output, /^platform \d+\.\d+\.\d+: /);
  const removed = dpkg('--remove', 'platform');
  assert.equal(removed.status, 0, removed.output);
  assert.deepEqual(readdirSync(path.join(home, '.platform')).sort(), ['data', 'platform.env']);
});

/** The archive under a higher version, signed with the same key. */
async function nextVersion(): Promise<string> {
  const folder = path.join(work, 'next');
  const name = path.basename(archive, '.tar.gz');
  const next = name.replace(/\d+\.\d+\.\d+/, '9.9.9');
  mkdirSync(folder);
  execFileSync('tar', ['-xzf', archive, '-C', folder]);
  renameSync(path.join(folder, name), path.join(folder, next));
  for (const file of ['release.json', 'node_modules/@platform-run/cli/package.json']) {
    const manifest = path.join(folder, next, file);
    const value = JSON.parse(readFileSync(manifest, 'utf8')) as object;
    writeFileSync(manifest, JSON.stringify({ ...value, version: '9.9.9' }));
  }
  const file = path.join(folder, `${next}.tar.gz`);
  execFileSync('tar', ['--owner=0', '--group=0', '-I', 'gzip -1', '-cf', file, '-C', folder, next]);
  const sums = Buffer.from(`${createHash('sha256').update(readFileSync(file)).digest('hex')}  ${next}.tar.gz\n`);
  writeFileSync(`${file}.sha256`, sums);
  writeFileSync(`${file}.sha256.sig`, sign(null, sums, key));
  return file;
}
