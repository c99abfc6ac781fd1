// `platform secrets init`: makes what is missing or weak, keeps what is good, and says names alone.
import assert from 'node:assert/strict';
import { mkdtempSync, readFileSync, rmSync, statSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { after, test } from 'node:test';
import { parseEnv } from 'node:util';
import { makeSecrets } from '#cli/secrets/make-secrets.ts';
import { secretVariables, weakSecrets } from '#core/process/secret-variables.ts';

const folder = mkdtempSync(path.join(tmpdir(), 'platform-secrets-'));
after(() => rmSync(folder, { recursive: true, force: true }));
const file = path.join(folder, '.env');
const example = path.join(import.meta.dirname, '../../../.env.example');
const read = (): NodeJS.Dict<string> => parseEnv(readFileSync(file, 'utf8'));
const all = secretVariables.filter((secret) => secret.with === undefined).map(({ name }) => name);

test('a new file begins as the example, with good secrets, and is nobody else’s', () => {
  const { made, kept } = makeSecrets(file, example);
  assert.deepEqual([made, kept], [all, []]);
  assert.equal(statSync(file).mode & 0o777, 0o600);
  const values = read();
  assert.match(values['AUTH_SECRET']!, /^[0-9a-f]{64}$/);
  assert.notEqual(values['AUTH_SECRET'], values['ENGINE_SECRET']);
  assert.match(readFileSync(file, 'utf8'), /#HANDLER_DOMAIN=localhost/);
  assert.deepEqual(weakSecrets(values), []);
});

test('run again, it changes nothing', () => {
  const before = readFileSync(file, 'utf8');
  assert.deepEqual(makeSecrets(file, example).kept, all);
  assert.equal(readFileSync(file, 'utf8'), before);
});

test('weak ones are replaced and everything else stays; what seals data is left to a person', () => {
  const good = 'f1a0c25be9d84736f1a0c25be9d84736f1a0c25be9d84736';
  writeFileSync(
    file,
    `# mine\nSQLDB_PASSWORD=postgres\nOTHER=kept\nAUTH_SECRET=${good}\nexport DB_SERVICE_TOKEN="change-me-change-me-change-me-abcdefgh"\nENCRYPTION_KEY=short\nGITHOST_APP_ID=7\n`,
    { mode: 0o644 },
  );
  const { made, replaced, kept, weak } = makeSecrets(file, example);
  assert.deepEqual(
    [replaced, kept, weak],
    [['SQLDB_PASSWORD', 'DB_SERVICE_TOKEN'], ['AUTH_SECRET'], ['ENCRYPTION_KEY']],
  );
  assert.ok(made.includes('GITHOST_WEBHOOK_SECRET'));
  const values = read();
  assert.deepEqual([values['OTHER'], values['AUTH_SECRET'], values['ENCRYPTION_KEY']], ['kept', good, 'short']);
  assert.match(values['SQLDB_PASSWORD']!, /^[0-9a-f]{64}$/);
  assert.equal(statSync(file).mode & 0o777, 0o600);
  assert.match(readFileSync(file, 'utf8'), /^# mine\n/);
});

test('weak secrets are named with the command that mends them, and no value is shown', () => {
  const lines = weakSecrets({
    AUTH_SECRET: 'aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa',
    PRIVATE_PORT_TOKEN: 'your-token-goes-here-0123456789abcdef',
    DATABASE_URL: 'postgres://platform:hunter2@postgres/platform',
    ENGINE_DATABASE_URL: '',
  });
  assert.deepEqual(lines, [
    'AUTH_SECRET is weak: it needs at least 32 random characters; make one with `openssl rand -hex 32`',
    'PRIVATE_PORT_TOKEN is a word of an example, not a secret',
    'the password in DATABASE_URL is weak: it needs at least 16 random characters; make one with `openssl rand -hex 32`',
    '`platform secrets init` makes good ones in .env',
  ]);
});
