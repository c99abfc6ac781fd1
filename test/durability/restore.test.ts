// A whole platform is backed up while entries are written, wiped, and restored: all that was acknowledged before the
// backup began is back, compared by hash. Then it moves to a Postgres of the operator's own and a bucket, and back.
import assert from 'node:assert/strict';
import { createHash } from 'node:crypto';
import { mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { after, before, test, type TestContext } from 'node:test';
import { startEmbeddedPostgres, findEmbeddedPostgres, type EmbeddedPostgres } from '#postgres/embedded.ts';
import { digestOfDatabase, digestOfFolder } from '#test/setup/backups.ts';
import { ask, entriesUpTo, ledgerFiles, startLedgerLoad, wholeness, type Entries } from '#test/setup/ledger.ts';
import { startS3Server, variablesOf, type S3Server } from '#test/setup/s3-server.ts';
import { startWholePlatform, type Json, type WholePlatform } from '#test/setup/whole-platform.ts';

/** Entries before a backup, and after its end. */
const ENTRIES = Number(process.env['RESTORE_ENTRIES'] ?? 120);
const PASSPHRASE = 'correct horse battery staple';
/** Tables that nothing but a person changes. */
const QUIET = /^control\.(?:account|branch|deployment|identity|membership|organization|project|repository|variable)$/;

const outside = mkdtempSync(path.join(tmpdir(), 'platform-outside-'));
let platform: WholePlatform;
let projectId = '';
let external: EmbeddedPostgres;
let s3: S3Server;

before(async () => {
  s3 = await startS3Server();
  external = await startEmbeddedPostgres({ folder: path.join(outside, 'postgres') });
});
after(async () => {
  await platform.close();
  await external.stop();
  await s3.close();
  rmSync(outside, { recursive: true, force: true });
});

const dataOf = ({ folder }: WholePlatform): string => path.join(folder, 'data');
const hashOf = (value: unknown): string => createHash('sha256').update(JSON.stringify(value)).digest('hex');

/** Pushes the project to the platform: what Git says names the URL. */
async function push(branch: string, text: string): Promise<void> {
  const clone = path.join(platform.folder, 'clone');
  mkdirSync(path.join(clone, 'src'), { recursive: true });
  for (const [file, content] of Object.entries(ledgerFiles(text))) writeFileSync(path.join(clone, file), content);
  await platform.git(clone, 'init', '-q', '-b', 'main');
  await platform.git(clone, 'checkout', '-q', '-B', branch);
  await platform.git(clone, 'add', '.');
  await platform.git(clone, 'commit', '-q', '--allow-empty', '-m', text);
  const remote = `http://x:${platform.token}@127.0.0.1:${platform.ports.api}/git/ledger.git`;
  const { stderr } = await platform.git(clone, 'push', remote, branch);
  assert.match(stderr, /remote: Live at http:\/\/ledger/);
}

const answerOf = async (label: string): Promise<string> => (await ask(platform.ports.handler, label, '/')).text;

/** What the platform has that does not change by itself. */
async function quiet(databaseUrl: string): Promise<unknown> {
  const tables = Object.entries(await digestOfDatabase(databaseUrl)).filter(([name]) => QUIET.test(name));
  assert.equal(tables.length, 9);
  const deployments = (await platform.call('GET', `/deployments?projectId=${projectId}`)).items as Json[];
  const folders = digestOfFolder(dataOf(platform), ['routes', 'artifacts', 'repositories']);
  // Where hooks find the API process.
  delete folders['repositories/socket'];
  // Counted again every minute.
  delete folders['routes/storage'];
  return {
    tables,
    deployments: deployments.map(({ id, status, artifactId }) => [id, status, artifactId]),
    folders,
  };
}

const embedded = (): string => findEmbeddedPostgres(path.join(dataOf(platform), 'postgres'))!.url;

async function signIn(how: 'signup' | 'signin'): Promise<void> {
  const person = { email: 'ada@example.org', password: 'correct horse', name: 'Ada' };
  const answer = await ask(platform.ports.handler, 'ledger', `/auth/${how}`, 'POST', JSON.stringify(person));
  assert.equal(answer.status, 200, answer.text);
}

/** @returns its report. */
async function backUp(archive: string, ...words: string[]): Promise<Json> {
  return JSON.parse((await platform.cli(platform.folder, 'backup', '--out', archive, '--json', ...words)).stdout);
}

/** Wipes the platform, restores an archive with other variables, and starts it with them. */
async function wipeAndRestore(archive: string, variables: Readonly<Record<string, string>>): Promise<Json> {
  await platform.stop();
  rmSync(dataOf(platform), { recursive: true });
  rmSync(path.join(platform.folder, 'home'), { recursive: true, force: true });
  const moved: WholePlatform = { ...platform, environment: { ...platform.environment, ...variables } };
  Object.assign(platform.environment, variables);
  const restored = await platform.cli(platform.folder, 'restore', archive, '--json');
  platform = await startWholePlatform({ BACKUP_PASSPHRASE: PASSPHRASE, ...variables }, moved);
  return JSON.parse(restored.stdout);
}

async function same(t: TestContext, last: number, were: Entries, what: string): Promise<void> {
  const are = await entriesUpTo(platform.ports.handler, 'ledger', last);
  for (const kind of Object.keys(were) as (keyof Entries)[])
    assert.equal(hashOf(are[kind]), hashOf(were[kind]), `${what}: ${kind}`);
  assert.deepEqual(await wholeness(platform.ports.handler, 'ledger'), { halves: [], check: 'ok' }, what);
  t.diagnostic(`${what}: ${last} entries are the same, SHA-256 ${hashOf(were).slice(0, 16)}`);
}

test('what was acknowledged before a backup under load is back after a wipe', async (t) => {
  platform = await startWholePlatform({ BACKUP_PASSPHRASE: PASSPHRASE });
  await push('main', 'main');
  await push('feature', 'preview');
  const [organization] = (await platform.call('GET', '/user')).organizations as Json[];
  const [project] = (await platform.call('GET', `/orgs/${organization.id}/projects`)).items as Json[];
  projectId = project.id;
  await platform.call('POST', `/environment-variables/${projectId}`, {
    key: 'SECRET',
    value: 'sealed',
    kind: 'secret',
  });
  await push('main', 'production');
  assert.equal(await answerOf('ledger'), 'production sealed');
  await signIn('signup');
  await ask(platform.ports.handler, 'ledger', '/prepare');

  const load = startLedgerLoad(platform.ports.handler, 'ledger');
  await load.more(ENTRIES);
  const last = load.acknowledged;
  const before = await quiet(embedded());
  const archive = path.join(outside, 'under-load.tar');
  const report = await backUp(archive);
  const during = load.acknowledged - last;
  await load.more(10);
  await load.stop();
  assert.deepEqual(load.failures, []);
  assert.ok(during > 0, 'entries were written while the backup was made');
  t.diagnostic(`${last} entries before the backup, ${during} during it; ${report.rows} rows, ${report.files} files`);
  const were = await entriesUpTo(platform.ports.handler, 'ledger', last);

  await wipeAndRestore(archive, {});
  await same(t, last, were, 'after the wipe');
  assert.deepEqual(await quiet(embedded()), before);
  assert.equal(await answerOf('ledger'), 'production sealed');
  assert.match(await answerOf('ledger--feature'), /^preview /);
  await signIn('signin');
  await push('main', 'pushed after the restore');
  assert.equal(await answerOf('ledger'), 'pushed after the restore sealed');
});

test('it moves to a Postgres of its own and to a bucket, and from there to a disk', async (t) => {
  const load = startLedgerLoad(platform.ports.handler, 'ledger', 100_001);
  await load.more(10);
  await load.stop();
  assert.deepEqual(load.failures, []);
  const last = ENTRIES;
  const were = await entriesUpTo(platform.ports.handler, 'ledger', last);
  const before = await quiet(embedded());
  const toBucket = path.join(outside, 'to-bucket.tar');
  await backUp(toBucket);

  const bucket = { ...variablesOf(s3, 'FILES_S3'), FILES_S3_BUCKET: 'files' };
  const secretOf = (name: string): string => readFileSync(path.join(dataOf(platform), 'secrets', name), 'utf8').trim();
  // Whoever has a database of their own keeps these too.
  const keys = { ENCRYPTION_KEY: secretOf('encryption-key'), AUTH_SECRET: secretOf('auth-secret') };
  const { files } = await wipeAndRestore(toBucket, { ...bucket, ...keys, DATABASE_URL: external.url });
  assert.ok(files >= last);
  await same(t, last, were, 'on another Postgres, files in a bucket');
  assert.deepEqual(await quiet(external.url), before);
  assert.equal(findEmbeddedPostgres(path.join(dataOf(platform), 'postgres')), null);
  await signIn('signin');
  await push('main', 'on the other Postgres');
  assert.equal(await answerOf('ledger'), 'on the other Postgres sealed');

  const without = await backUp(path.join(outside, 'without.tar'));
  assert.equal(without.files, 0);
  assert.match(without.leftOut.join('\n'), /Files of projects: they are in the bucket files/);
  const toDisk = path.join(outside, 'to-disk.tar');
  const report = await backUp(toDisk, '--bucket');
  assert.equal(report.files, files);
  const moved = await quiet(external.url);
  const none = Object.fromEntries(Object.keys(bucket).map((name) => [name, '']));
  await wipeAndRestore(toDisk, { ...none, ...keys, DATABASE_URL: '' });
  await same(t, last, were, 'on the embedded Postgres, files on the disk');
  assert.deepEqual(await quiet(embedded()), moved);
  assert.equal(await answerOf('ledger'), 'on the other Postgres sealed');
});
