// The checks of an installation: what each finds, and that no secret is in what it says.
import assert from 'node:assert/strict';
import { chmodSync, mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { after, test } from 'node:test';
import { backupRuns, beginRun, endRun } from '#core/process/backup-runs.ts';
import { writeWhole } from '#core/process/platform-record.ts';
import {
  checkAi,
  checkBackups,
  checkCertificates,
  checkInstallation,
  checkModes,
  checkReplicas,
  checkSecrets,
} from '#operations/doctor/installation.ts';
import { checkBuildExecutor } from '#operations/doctor/builds.ts';
import type { Finding } from '#operations/doctor/finding.ts';
import { checkMachine } from '#operations/doctor/machine.ts';

const folder = mkdtempSync(path.join(tmpdir(), 'platform-doctor-'));
after(() => rmSync(folder, { recursive: true }));
const now = Date.now();

test('a backup is missed, made, too old, failed', () => {
  assert.deepEqual(checkBackups({}, folder, now), {
    name: 'backup',
    status: 'warn',
    message: 'No backup exists yet',
    advice: 'Run `platform backup`, or set BACKUP_CRON and BACKUP_TARGET.',
  });
  endRun(folder, beginRun(folder), { location: '/b/x.tar', bytes: 10 });
  assert.equal(checkBackups({}, folder, now).message, 'The last backup is 0 h old: /b/x.tar');
  const old = checkBackups({}, folder, now + 8 * 86_400_000 + 3_600_000);
  assert.deepEqual([old.status, old.message], ['warn', 'The last backup is 8 days old: /b/x.tar']);
  // Killed: the next one finds it.
  beginRun(folder);
  assert.equal(checkBackups({}, folder, now).status, 'ok');
  endRun(folder, beginRun(folder), { error: 'The disk is full' });
  assert.deepEqual(
    backupRuns(folder).map(({ error }) => error),
    ['The disk is full', 'It was interrupted', null],
  );
  const failed = checkBackups({ BACKUP_CRON: '0 3 * * *' }, folder, now);
  assert.deepEqual(
    [failed.status, failed.message],
    ['fail', 'The last backup failed (The disk is full); the last successful one is 0 h old'],
  );
});

test('AI providers are looked at: their variables, their prices, keys over plain HTTP', () => {
  const said = (environment: Record<string, string>): [string, string][] =>
    checkAi(environment).map(({ status, message }) => [status, message]);
  const key = 'sk-0123456789';
  assert.deepEqual(said({}), [
    ['warn', 'No AI provider is set: model calls fail, except with `npm start`, where the mock provider answers them'],
  ]);
  assert.deepEqual(said({ AI_GATEWAY_URL: 'http://api:4002' }), []);
  assert.deepEqual(said({ AI_PROVIDER_MOCK_KIND: 'mock' }), [['ok', 'AI providers: mock, which asks no model']]);
  assert.deepEqual(said({ AI_PROVIDER_OPENAI_KEY: key }), [
    ['warn', 'The model "auto" is not configured'],
    ['ok', 'AI providers: openai'],
  ]);
  assert.deepEqual(said({ AI_PROVIDER_OPENAI_KEY: key, AI_PROVIDER_MOCK_KIND: 'mock', AI_AUTO: 'openai/large' }), [
    ['ok', 'AI providers: openai, mock'],
  ]);
  assert.deepEqual(said({ AI_PROVIDER_OPENAI_KYE: key }), [
    ['fail', 'AI_PROVIDER_OPENAI_KYE is not known: there are AI_PROVIDER_<NAME>_KIND, _URL, _KEY, _MODELS'],
  ]);
  const gpu = { AI_PROVIDER_GPU_KIND: 'openai', AI_PROVIDER_GPU_KEY: key, AI_AUTO: 'gpu/large' };
  assert.deepEqual(said({ ...gpu, AI_PROVIDER_GPU_URL: 'http://127.0.0.1:8000/v1' }), [['ok', 'AI providers: gpu']]);
  const prices = path.join(folder, 'no-prices.json');
  assert.deepEqual(said({ ...gpu, AI_PROVIDER_GPU_URL: 'http://10.0.0.7:8000/v1', AI_PRICES_FILE: prices }), [
    ['fail', `AI_PRICES_FILE ${prices} cannot be read as JSON`],
    ['warn', 'The key of the AI provider gpu is sent over plain HTTP'],
  ]);
});

test('weak secrets are named, and not shown', () => {
  const found = checkSecrets({
    AUTH_SECRET: 'hunter2hunter2',
    ENCRYPTION_KEY: 'aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa',
    DATABASE_URL: 'postgres://platform:geheim@db.example.com/platform',
  });
  assert.deepEqual(
    found.map(({ status, message }) => [status, message]),
    [
      ['warn', 'AUTH_SECRET is weak'],
      ['warn', 'ENCRYPTION_KEY is weak'],
      ['warn', 'DATABASE_URL has a password with fewer than 12 characters'],
    ],
  );
  assert.doesNotMatch(JSON.stringify(found), /hunter2|aaaa|geheim/);
});

test('secrets that others may read fail, with the command that mends it', () => {
  assert.equal(checkModes(folder).status, 'ok');
  mkdirSync(path.join(folder, 'secrets'));
  chmodSync(path.join(folder, 'secrets'), 0o755);
  assert.deepEqual(checkModes(folder), {
    name: 'file modes',
    status: 'fail',
    message: `Other users can read secrets in ${folder}`,
    advice: `chmod -R go-rwx ${path.join(folder, 'secrets')}`,
  });
});

test('what was cut off fails', () => {
  writeWhole(path.join(folder, 'restore.json'), {});
  writeWhole(path.join(folder, 'upgrade.json'), { step: 'migrate' });
  const failed = checkInstallation({}, folder, now).filter(({ name }) => name === 'restore' || name === 'upgrade');
  assert.deepEqual(
    failed.map(({ status }) => status),
    ['fail', 'fail'],
  );
});

test('a certificate that cannot be read fails', () => {
  const file = path.join(folder, 'x.pem');
  writeFileSync(file, 'none');
  assert.equal(
    checkCertificates({ DB_SERVICE_TLS_CERT_FILE: file }, folder, now)[0]!.message,
    `DB_SERVICE_TLS_CERT_FILE (${file}) cannot be read as a certificate`,
  );
});

test('bounds that a variable changes are named with it, and one that is none fails', () => {
  const of = (environment: Record<string, string>) =>
    checkMachine(environment, folder).find(({ name }) => name === 'limits')!;
  assert.match(of({ API_PROJECTS_MAX: '5' }).message, /^API_PROJECTS_MAX=5 \(default 2000\); \d+ have their defaults$/);
  assert.equal(of({ API_PROJECTS_MAX: 'many' }).status, 'fail');
});

test('a variable that is no setting any more is a warning, with the value that holds', () => {
  const found = checkMachine({ WORKFLOW_STEPS_MAX: '5', QUEUE_DELAY_MS_MAX: '' }, folder);
  assert.deepEqual(
    found.filter(({ name, status }) => name === 'limits' && status === 'warn').map(({ message }) => message),
    ['WORKFLOW_STEPS_MAX is no longer a setting: its value is 1024'],
  );
});

test('builds in sandboxes are named, and what keeps a builder from starting', () => {
  const said = (environment: Record<string, string>): string[] =>
    checkBuildExecutor(environment).map(({ status, message }) => `${status} ${message}`);
  const sandbox = {
    BUILD_EXECUTOR: 'sandbox',
    SANDBOX_URL: 'http://sandbox:4006',
    SANDBOX_AUTH_TOKEN: 'b7c9d1e3f5a7b9c1d3e5f7a9b1c3d5e7',
    SANDBOX_NETWORK_ISOLATION: 'true',
  };
  assert.deepEqual(said({}), []);
  assert.deepEqual(said({ BUILD_EXECUTOR: 'local' }), []);
  assert.deepEqual(said(sandbox), ['ok Builds run in sandboxes']);
  assert.deepEqual(said({ ...sandbox, BUILD_EXECUTOR_ORGANIZATIONS: 'org_1, org_2' }), [
    'ok Builds of 2 organizations run in sandboxes',
  ]);
  assert.deepEqual(said({ ...sandbox, SANDBOX_NETWORK_ISOLATION: '' }), [
    'fail BUILD_EXECUTOR=sandbox: SANDBOX_NETWORK_ISOLATION must be true: builds must run in sandboxes without access to your network',
  ]);
  assert.deepEqual(said({ BUILD_EXECUTOR: 'vm' }), ['fail BUILD_EXECUTOR is "vm": it must be local or sandbox']);
});

test('replicas of databases are up to date, behind, or failing with the reason', () => {
  const at = Date.parse('2026-11-28T12:00:00Z');
  const bucket = {
    ENDPOINT: 'http://127.0.0.1:1',
    BUCKET: 'b',
    REGION: 'r',
    ACCESS_KEY_ID: 'k',
    SECRET_ACCESS_KEY: 's',
  };
  const environment = {
    DB_STORAGE_DIR: folder,
    ...Object.fromEntries(Object.entries(bucket).map(([name, value]) => [`DB_REPLICA_S3_${name}`, value])),
  };
  const found = (state: unknown): string => {
    writeFileSync(path.join(folder, '.replicas.json'), JSON.stringify(state));
    const [{ status, message }] = checkReplicas(environment, '', at) as [Finding];
    return `${status}: ${message}`;
  };
  assert.deepEqual(checkReplicas({}, folder, at), []);
  assert.equal(checkReplicas(environment, '', at)[0]?.message, 'Databases were never replicated');
  const state = { at: '2026-11-28T11:59:50Z', lagMs: 0, waiting: 0, problem: null };
  assert.equal(found(state), 'ok: Replicas of databases are up to date');
  assert.equal(
    found({ ...state, lagMs: 90_000, waiting: 3 }),
    'warn: Replicas are behind: 3 databases wait, the first for 90 s',
  );
  assert.equal(
    found({ ...state, lagMs: 5000, waiting: 1, problem: 'the storage answers 403 AccessDenied' }),
    'fail: Databases are not replicated (the storage answers 403 AccessDenied); 1 databases wait, the first for 5 s',
  );
  assert.equal(
    found({ ...state, at: '2026-11-28T10:00:00Z', problem: 'x' }),
    'ok: Databases were last replicated at 2026-11-28T10:00:00Z',
  );
});
