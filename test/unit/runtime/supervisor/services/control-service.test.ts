// What the API process gets of the environment: all that it reads, and no secret of another process.
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { limitsFrom, limitVariables } from '#core/limits.ts';
import { readSources } from '#cli/tasks/tools/sources.ts';
import { root } from '#cli/tasks/tools/processes.ts';
import { controlEnvironment } from '#runtime/supervisor/services/control-service.ts';

/** What the supervisor gives it itself. */
const GIVEN =
  /^(?:FS_PATH|DATABASE_URL|ENCRYPTION_KEY|AUTH_SECRET|EDGE_TOKEN|PRIVATE_PORT_TOKEN|WEB_TOKEN|MACHINE_ORIGIN|API_(?:HANDLER_URL|WEB_LISTEN|AI_SOCKET|AI_OPERATOR))$/;
const READS =
  /(?:\b(?:get|value|whole|port|originOf|choice)\(\s*|\b(?:env|environment|own|process\.env)\[)'([A-Z][A-Z0-9_]{2,})'/g;
/** Limits that control/main.ts takes of core/limits.ts. */
const BOUNDS =
  /^(?:(?:WORKER_CPU_LIMIT_MS|API|DRAIN|LOG|TRACE|UPLOAD|STORAGE|DISK)_[A-Z_]+|DB_(?:MAX_IMPORT_BYTES|DISK_FREE_BYTES_MIN))$/;

const reaches = (name: string): boolean => Object.keys(controlEnvironment({ [name]: '1' })).length > 0;

test('every variable that the sources of the API read reaches its process', () => {
  const read = new Set<string>();
  for (const [file, text] of Object.entries(readSources(root)))
    if (/^(?:control\/(?!gateway\/)|git\/|core\/mail-target).*\.ts$/.test(file))
      for (const [, name] of text.matchAll(READS)) read.add(name!);
  assert.ok(read.has('AUTH_MAIL_URL'));
  assert.deepEqual(
    [...read].filter((name) => !GIVEN.test(name) && !reaches(name)),
    [],
  );
});

test('every bound that the API takes reaches its process', () => {
  assert.deepEqual(
    limitVariables.filter((name) => BOUNDS.test(name) && !reaches(name)),
    [],
  );
  const environment = controlEnvironment({
    WORKER_CPU_LIMIT_MS_FREE: '70',
    WORKER_CPU_LIMIT_MS_CRON_PRO: '80',
    DB_MAX_IMPORT_BYTES: '90',
  });
  const { cpu, database } = limitsFrom(environment);
  assert.deepEqual([cpu.http.free, cpu.cron.pro, database.importBytesMax], [70, 80, 90]);
});

test('secrets of other processes do not reach the API', () => {
  for (const name of [
    'AI_PROVIDER_OPENAI_KEY',
    'DBCLOUD_API_TOKEN',
    'DB_SERVICE_TOKEN',
    'FILES_S3_SECRET_ACCESS_KEY',
    'HOSTED_API_KEY',
    'BACKUP_PASSPHRASE',
    'ENGINE_SECRET',
  ])
    assert.equal(reaches(name), false, name);
});
