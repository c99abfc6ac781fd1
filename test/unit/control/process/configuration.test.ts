// The environment of the API process: defaults, what is refused and how, and that no value is in a message.
import assert from 'node:assert/strict';
import { generateKeyPairSync } from 'node:crypto';
import { mkdtempSync, readFileSync, rmSync, statSync } from 'node:fs';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { test } from 'node:test';
import { sharedSecrets } from '#core/process/generated-secrets.ts';
import { readConfiguration } from '#control/process/configuration.ts';

const HEX = '0123456789abcdef0123456789abcdef0123456789abcdef0123456789abcdef';
const enough = {
  DATABASE_URL: 'postgres://u:p@127.0.0.1:5432/platform',
  FS_PATH: '/srv/platform',
  AUTH_SECRET: HEX,
  ENCRYPTION_KEY: HEX,
};

function problemsOf(environment: Record<string, string>): string[] {
  try {
    readConfiguration(environment);
    return [];
  } catch (error) {
    return (error as Error).message.split('\n');
  }
}

test('what is enough has defaults for the rest', () => {
  const { addresses, privatePort, listeners, gitHost, signUp, cacheUrl, warnings } = readConfiguration(enough);
  assert.deepEqual(addresses, {
    api: 'http://localhost:4002',
    ui: 'http://localhost:3002',
    domain: 'localhost',
    protocol: 'http',
    port: 4001,
    domains: ['localhost'],
    publicAddresses: [],
    issuesCertificates: false,
  });
  assert.deepEqual(privatePort, { origins: ['http://127.0.0.1:8081'], token: null, machines: null });
  assert.deepEqual(listeners, { host: '127.0.0.1', apiPort: 4002 });
  assert.deepEqual(gitHost, { url: 'https://github.com', apiUrl: 'https://api.github.com', oauth: null });
  assert.deepEqual([signUp, cacheUrl, warnings], ['invited', null, []]);
});

test('the addresses follow the ports, where they are not given', () => {
  const { addresses } = readConfiguration({ ...enough, API_PORT: '14002', UI_PORT: '13002' });
  assert.deepEqual([addresses.api, addresses.ui], ['http://localhost:14002', 'http://localhost:13002']);
});

test('everything that is missing is named at once, with the command that makes a secret', () => {
  assert.deepEqual(problemsOf({}), [
    'DATABASE_URL is not set: name a Postgres database',
    'FS_PATH is not set: name the data folder',
    'AUTH_SECRET is not set: make one with `openssl rand -hex 32`',
    'ENCRYPTION_KEY is not set: make one with `openssl rand -hex 32`, and keep it with your backups',
  ]);
});

test('weak secrets and wrong values are refused, and none of them is in the message', () => {
  const weak = {
    DATABASE_URL: 'mysql://root:hunter2@db/x',
    FS_PATH: '/srv/platform',
    CACHE_URL: 'http://:hunter2@cache',
    AUTH_SECRET: 'hunter2',
    ENCRYPTION_KEY: 'hunter2hunter2hunter2hunter2hunter2',
    GITHOST_WEBHOOK_SECRET: 'hunter2',
    GITHOST_APP_ID: '1',
    GITHOST_APP_PRIVATE_KEY: 'hunter2',
    GITHOST_CLIENT_SECRET: 'hunter2',
    AUTH_URL: 'https://app.example.com/hunter2',
    SIGN_IN: 'password,hunter2',
    SIGN_UP: 'hunter2',
  };
  const problems = problemsOf(weak).join('\n');
  assert.doesNotMatch(problems, /hunter2/);
  for (const name of Object.keys(weak).filter((one) => !['FS_PATH', 'GITHOST_APP_ID'].includes(one)))
    assert.match(problems, new RegExp(`^${name} |^GITHOST_CLIENT_ID is not set`, 'm'), name);
});

test('ways to sign in are a list, and all of them by default', () => {
  assert.deepEqual(readConfiguration(enough).signInWays, ['password', 'passkey', 'git-host', 'oidc']);
  assert.deepEqual(readConfiguration({ ...enough, SIGN_IN: ' git-host ,' }).signInWays, ['git-host']);
  assert.deepEqual(problemsOf({ ...enough, SIGN_IN: 'passwords' }), [
    'SIGN_IN must be a list of password, passkey, git-host, oidc',
  ]);
});

test('a provider that nobody can sign in at is warned of', () => {
  const provider = { OIDC_ISSUER: 'https://a.example', OIDC_CLIENT_ID: 'a', OIDC_CLIENT_SECRET: 'b' };
  assert.deepEqual(readConfiguration({ ...enough, ...provider }).warnings, []);
  assert.deepEqual(readConfiguration({ ...enough, ...provider, SIGN_IN: 'password' }).warnings, [
    'OIDC_ISSUER is set, but SIGN_IN does not include oidc: sign-in with OpenID Connect is off',
  ]);
});

test('a group that is set in part is refused', () => {
  assert.deepEqual(problemsOf({ ...enough, GITHOST_CLIENT_ID: 'x' }), [
    'GITHOST_CLIENT_SECRET is not set, but GITHOST_CLIENT_ID is: set all of GITHOST_CLIENT_ID, GITHOST_CLIENT_SECRET, or none',
  ]);
  assert.match(
    problemsOf({ ...enough, GITHOST_WEBHOOK_SECRET: HEX }).join('\n'),
    /GITHOST_APP_ID and GITHOST_APP_PRIVATE_KEY are not set/,
  );
});

test('addresses of other hosts are taken, and plain HTTP beyond this machine is warned of', () => {
  const { privateKey } = generateKeyPairSync('rsa', { modulusLength: 2048 });
  const pem = String(privateKey.export({ type: 'pkcs8', format: 'pem' }));
  const { gitHost, warnings, addresses, git } = readConfiguration({
    ...enough,
    ENCRYPTION_KEY: `${HEX},${HEX.split('').reverse().join('')}`,
    GITHOST_URL: 'https://git.example.com/',
    GITHOST_CLIENT_ID: 'id',
    GITHOST_CLIENT_SECRET: 'secret',
    GITHOST_APP_ID: '7',
    GITHOST_APP_PRIVATE_KEY: pem.replaceAll('\n', '\\n'),
    GITHOST_WEBHOOK_SECRET: HEX,
    AUTH_URL: 'http://10.0.0.5:3002',
    PUBLIC_PROTOCOL: 'https',
  });
  assert.deepEqual(gitHost, {
    url: 'https://git.example.com',
    apiUrl: 'https://git.example.com/api/v3',
    oauth: { clientId: 'id', clientSecret: 'secret' },
  });
  assert.notEqual(git.gitHost, null);
  assert.equal(addresses.port, null);
  assert.deepEqual(warnings, [
    'AUTH_URL is plain HTTP: sessions can be read on the way; put TLS before it and say https',
  ]);
});

test('with the embedded database, secrets are made once and kept for the platform alone', (t) => {
  const folder = mkdtempSync(path.join(tmpdir(), 'platform-secrets-'));
  t.after(() => rmSync(folder, { recursive: true, force: true }));
  const made = sharedSecrets({}, folder);
  assert.match(made.AUTH_SECRET, /^[0-9a-f]{64}$/);
  assert.match(made.ENCRYPTION_KEY, /^[0-9a-f]{64}$/);
  assert.notEqual(made.AUTH_SECRET, made.ENCRYPTION_KEY);
  assert.deepEqual(sharedSecrets({}, folder), made);
  assert.equal(sharedSecrets({ AUTH_SECRET: HEX }, folder).AUTH_SECRET, HEX);
  const file = path.join(folder, 'secrets', 'encryption-key');
  assert.equal(readFileSync(file, 'utf8'), `${made.ENCRYPTION_KEY}\n`);
  assert.equal(statSync(file).mode & 0o777, 0o600);
  assert.equal(statSync(path.dirname(file)).mode & 0o777, 0o700);
});

test("with a database of one's own, secrets have to be given", () => {
  assert.throws(() => sharedSecrets({ DATABASE_URL: enough.DATABASE_URL, AUTH_SECRET: 'x' }, '/nowhere'), {
    message:
      'AUTH_SECRET is weak: it needs at least 32 random characters; make one with `openssl rand -hex 32`\n' +
      'ENCRYPTION_KEY is not set: make one with `openssl rand -hex 32`, and keep it with your backups',
  });
});
