import assert from 'node:assert/strict';
import { test } from 'node:test';
import { confinedCommand } from '#core/process/confinement/command-line.ts';
import { openControlGroups, parseOwnGroups } from '#core/process/confinement/control-groups.ts';
import { certificatePaths, machineVariables } from '#builder/steps/environment.ts';
import { parseProcess, processesOf, type ProcessEntry } from '#core/process/confinement/process-table.ts';

const bounds = {
  slot: 3,
  cwd: '/builds/1/source',
  writable: ['/builds/1'],
  tmp: '/builds/1/tmp',
  groups: ['/sys/fs/cgroup/memory/x/cgroup.procs'],
  processesMax: 512,
  fileBytesMax: 1000,
};

function entry(id: number, more: Partial<ProcessEntry> = {}): ProcessEntry {
  return { id, parent: 1, group: id, uid: 0, threads: 1, bytes: 0, isDead: false, ...more };
}

test('a process is read as Linux tells it, whatever its name is', () => {
  const status = [
    'Name:\tUid: 7 PPid: 9',
    'State:\tS (sleeping)',
    'PPid:\t41',
    'Uid:\t1900000003\t1900000003\t1900000003\t1900000003',
    'NSpgid:\t40\t2',
    'RssAnon:\t    2048 kB',
    'RssShmem:\t       4 kB',
    'Threads:\t11',
  ].join('\n');
  assert.deepEqual(parseProcess(42, status), {
    id: 42,
    parent: 41,
    group: 40,
    uid: 1_900_000_003,
    threads: 11,
    bytes: 2052 * 1024,
    isDead: false,
  });
  assert.equal(parseProcess(42, 'State:\tZ (zombie)\n').isDead, true);
});

test('processes of a build are those of its user, its group, and all that descend from it', () => {
  const entries = [
    entry(10, { parent: 12 }),
    entry(11),
    entry(12, { parent: 20 }),
    entry(20),
    entry(21, { group: 20 }),
    entry(22, { parent: 21, isDead: true }),
    entry(30, { uid: 77 }),
  ];
  assert.deepEqual(
    processesOf(entries, 20, null).map(({ id }) => id),
    [10, 12, 20, 21],
  );
  assert.deepEqual(
    processesOf(entries, 0, 77).map(({ id }) => id),
    [30],
  );
  assert.deepEqual(processesOf(entries, 0, null), []);
});

test('the command line enters the group, then namespaces, then the user, then limits', () => {
  const confinement = { kind: 'namespaces', reason: null, firstUid: 1_900_000_000, fence: '/usr/bin/bwrap' } as const;
  const { file, args } = confinedCommand(confinement, bounds, ['npm', 'ci']);
  const order = ['/usr/bin/bwrap', 'setpriv', 'nice', 'prlimit', 'npm'].map((word) => args.indexOf(word));
  assert.equal(file, 'sh');
  assert.ok(order.every((at, index) => at > (order[index - 1] ?? 0)));
  for (const word of ['--die-with-parent', '--unshare-pid', '--reuid=1900000003', '--no-new-privs', '--nproc=512:512'])
    assert.ok(args.includes(word), word);
  assert.equal(args.includes('/etc'), true);
  const shown = args.flatMap((word, at) => (/^--(?:ro-)?bind(?:-try)?$/.test(word) ? [args[at + 1]!] : []));
  for (const path of shown) assert.ok(!['/', '/etc', '/home', '/var', '/run', '/tmp'].includes(path), path);
  assert.deepEqual(args.slice(-4), ['sh', '/builds/1/source', 'npm', 'ci']);
});

test('without confinement no word of it is there', () => {
  const { args } = confinedCommand({ kind: 'none', reason: null }, { ...bounds, groups: [] }, ['true']);
  for (const word of ['setpriv', '--unshare-pid', '--nproc=512:512']) assert.equal(args.includes(word), false, word);
});

test('groups of a process are read from both versions', () => {
  const groups = parseOwnGroups('4:memory:/a/b\n3:cpu,cpuacct:/c\n1:name=systemd:/\n0::/d:e\n');
  assert.equal(groups.get('memory'), '/a/b');
  assert.equal(groups.get('cpuacct'), '/c');
  assert.equal(groups.get(''), '/d:e');
});

test('where no groups are wanted none are made, and nothing is hit', async () => {
  const groups = await openControlGroups(null);
  assert.deepEqual(groups.files, []);
  assert.equal(await groups.hit(), null);
  assert.equal(await groups.processes(), null);
  await groups.close();
});

test('of the machine a build gets certificates and addresses without passwords, and nothing of the platform', () => {
  const environment = {
    DATABASE_URL: 'postgres://x',
    ENCRYPTION_KEY: 'k',
    SSL_CERT_FILE: '/srv/own-ca.pem',
    HTTPS_PROXY: 'http://proxy.example:3128',
    HTTP_PROXY: 'http://me:secret@proxy.example:3128',
    NPM_CONFIG_REGISTRY: 'https://packages.example/',
    PATH: '/srv/bin',
  };
  assert.deepEqual(machineVariables(environment), {
    SSL_CERT_FILE: '/srv/own-ca.pem',
    HTTPS_PROXY: 'http://proxy.example:3128',
    NPM_CONFIG_REGISTRY: 'https://packages.example/',
  });
  assert.deepEqual(certificatePaths(environment), ['/srv/own-ca.pem']);
});
