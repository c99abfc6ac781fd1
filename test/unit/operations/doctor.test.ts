// The checks of an installation: what each finds, and that no secret is in what it says.
import assert from 'node:assert/strict';
import { chmodSync, mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { after, test } from 'node:test';
import { backupRuns, beginRun, endRun } from '#core/process/backup-runs.ts';
import { writeWhole } from '#core/process/platform-record.ts';
import {
  checkBackups,
  checkCertificates,
  checkInstallation,
  checkModes,
  checkSecrets,
} from '#operations/doctor/installation.ts';
import { checkMachine } from '#operations/doctor/machine.ts';

const folder = mkdtempSync(path.join(tmpdir(), 'platform-doctor-'));
after(() => rmSync(folder, { recursive: true }));
const now = Date.now();

test('a backup is missed, made, too old, failed', () => {
  assert.deepEqual(checkBackups({}, folder, now), {
    name: 'backup',
    status: 'warn',
    message: 'No backup was ever made',
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
    ['The disk is full', 'It was cut off', null],
  );
  const failed = checkBackups({ BACKUP_CRON: '0 3 * * *' }, folder, now);
  assert.deepEqual(
    [failed.status, failed.message],
    ['fail', 'The last backup failed (The disk is full); the last good one is 0 h old'],
  );
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
    message: `Others may read secrets in ${folder}`,
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
    `DB_SERVICE_TLS_CERT_FILE (${file}) is no certificate that can be read`,
  );
});

test('bounds that a variable changes are named with it, and one that is none fails', () => {
  const of = (environment: Record<string, string>) =>
    checkMachine(environment, folder).find(({ name }) => name === 'limits')!;
  assert.match(of({ API_PROJECTS_MAX: '5' }).message, /^API_PROJECTS_MAX=5 \(default 2000\); \d+ have their defaults$/);
  assert.equal(of({ API_PROJECTS_MAX: 'many' }).status, 'fail');
});
