// A machine joins with DATABASE_URL and a token: once, with the same version, clock and key, and a name of its own.
import assert from 'node:assert/strict';
import { mkdtempSync, readFileSync, rmSync, statSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { after, before, test } from 'node:test';
import { parseEnv } from 'node:util';
import { run } from '#cli/main.ts';
import { joinInstallation } from '#operations/machines/join.ts';
import { makeMachineToken } from '#operations/machines/token.ts';
import { openPostgres, type Postgres } from '#postgres/connection.ts';
import { createTestDatabase } from '#test/setup/postgres.ts';
import { recordingShell } from '#test/unit/cli/recording-shell.ts';

const key = (digit: string): string => `${digit}123456789abcdef`.repeat(4);
let database: Awaited<ReturnType<typeof createTestDatabase>>;
let sql: Postgres;
let first: Record<string, string>;
let own: Record<string, string>;
const folder = mkdtempSync(path.join(tmpdir(), 'platform-join-'));
before(async () => {
  database = await createTestDatabase();
  sql = openPostgres({ url: database.url, name: 'test', connectionsMax: 1 });
  first = {
    DATABASE_URL: database.url,
    AUTH_SECRET: key('a'),
    ENCRYPTION_KEY: key('b'),
    PRIVATE_PORT_TOKEN: key('c'),
    DB_SERVICE_TOKEN: key('d'),
    DB_URL: 'tcp://10.0.0.1:80',
    FILES_S3_BUCKET: 'files of all',
    HANDLER_PORT: '4009',
    FS_PATH: '/data',
    MACHINE_NAME: 'm1',
  };
  own = {
    DATABASE_URL: database.url,
    FS_PATH: folder,
    HOST: '0.0.0.0',
    HANDLER_HOST: '0.0.0.0',
    PLATFORM_PARTS: 'handler',
    MACHINE_NAME: 'm2',
    MACHINE_ADDRESS: '10.0.0.2',
  };
});
after(async () => {
  await sql.close();
  await database.close();
  rmSync(folder, { recursive: true, force: true });
});

const join = (token: string, more: Record<string, string> = {}, now?: () => number) =>
  joinInstallation({
    token,
    own: { ...own, ...more },
    version: '9.9.9',
    write() {},
    ...(now !== undefined && { now }),
  });

test('a token brings what all machines share, once, and nothing of it is readable in Postgres', async () => {
  const { token, variables } = await makeMachineToken(first);
  assert.deepEqual(variables, [
    'AUTH_SECRET',
    'DB_SERVICE_TOKEN',
    'DB_URL',
    'ENCRYPTION_KEY',
    'FILES_S3_BUCKET',
    'PRIVATE_PORT_TOKEN',
  ]);
  const [row] = await sql.all<{ text: string }>(`SELECT row_to_json(t)::text AS text FROM control.machine_token t`);
  for (const value of [token, token.slice(-43), first['AUTH_SECRET']!, 'files of all'])
    assert.equal(row!.text.includes(value) || row!.text.includes(Buffer.from(value).toString('hex')), false);
  const written: Record<string, string>[] = [];
  const joined = await joinInstallation({ token, own, version: '9.9.9', write: (all) => void written.push(all) });
  assert.deepEqual(joined, { name: 'm2', address: '10.0.0.2', brought: variables });
  const { FS_PATH, HANDLER_PORT, MACHINE_NAME, ENCRYPTION_KEY } = written[0]!;
  assert.deepEqual([FS_PATH, HANDLER_PORT, MACHINE_NAME, ENCRYPTION_KEY], [folder, undefined, 'm2', key('b')]);
  await assert.rejects(join(token, { MACHINE_NAME: 'm3' }), {
    message: 'The token was used by machine m2: it is valid for one machine only, so create another token',
  });
  const rows = await sql.all('SELECT settings FROM control.machine_token');
  assert.deepEqual(rows, [{ settings: null }]);
  const audit = await sql.all<{ action: string }>('SELECT action FROM control.audit_event ORDER BY seq');
  assert.deepEqual(
    audit.map(({ action }) => action),
    ['machine.token', 'machine.join'],
  );
});

test('wrong and expired tokens are refused, without their value', async () => {
  const { token } = await makeMachineToken(first);
  const wrong = `${token.slice(0, -5)}${token.endsWith('AAAAA') ? 'BBBBB' : 'AAAAA'}`;
  const unknown = { message: 'The token is unknown to this installation: create a token on one of its machines' };
  await assert.rejects(join(wrong), unknown);
  await assert.rejects(join(token.replace(/^plm_.{16}/, 'plm_0000000000000000')), unknown);
  await assert.rejects(join('plt_x'), { message: /^This is not a token for a machine/ });
  await sql.all('UPDATE control.machine_token SET expires_at = now() WHERE used_at IS NULL');
  await assert.rejects(join(token), { message: 'The token has expired: create another token' });
});

test('what is different is refused by its name, and the token stays unused', async () => {
  const { token } = await makeMachineToken(first);
  await sql.all(
    `INSERT INTO control.machine (name, member, lock_key, private_origin, parts, version, key_ids, memory_bytes,
      memory_free_bytes, disk_bytes, disk_free_bytes)
     VALUES ('m1', 'b7-x', 7, 'http://10.0.0.1:8081', '{handler}', '1.0.0', '{}', 1, 1, 1, 1)`,
  );
  const cases: readonly (readonly [Record<string, string>, RegExp])[] = [
    [{ MACHINE_NAME: 'm1' }, /^Another machine is called m1 \(http:\/\/10\.0\.0\.1:8081\): choose another --name$/],
    [{ ENCRYPTION_KEY: key('e') }, /^ENCRYPTION_KEY of this machine differs from that of the installation/],
    [{ MACHINE_ADDRESS: 'http://x' }, /^MACHINE_ADDRESS is "http:\/\/x"/],
    [{ MACHINE_NAME: 'M2' }, /^MACHINE_NAME is "M2"/],
    [{ PLATFORM_PARTS: 'handlers' }, /^PLATFORM_PARTS must be a comma-separated list of handler/],
    [{ HOST: '127.0.0.1' }, /^MACHINE_ADDRESS is 10\.0\.0\.2, but HOST is 127\.0\.0\.1/],
    [{ DATABASE_URL: '' }, /^DATABASE_URL is not set/],
  ];
  for (const [more, message] of cases) await assert.rejects(join(token, more), { message });
  await assert.rejects(
    join(token, {}, () => Date.now() + 120_000),
    { message: /^The clock of this machine is (?:119|120) s ahead of that of Postgres/ },
  );
  await sql.all(`INSERT INTO public.platform_migrations (version, name, hash, duration_ms) VALUES (999, 'x', 'x', 1)`);
  await assert.rejects(join(token), {
    message:
      /^The installation has schema \d+ \(version 1\.0\.0\), this program \d+ \(version 9\.9\.9\): install the same/,
  });
  await sql.all('DELETE FROM public.platform_migrations WHERE version = 999');
  await assert.rejects(
    joinInstallation({
      token,
      own,
      version: '9.9.9',
      write() {
        throw new Error('disk full');
      },
    }),
    { message: 'disk full' },
  );
  assert.equal((await join(token)).name, 'm2');
});

test('secrets that each machine would make for itself are asked for before a token is made', async () => {
  await assert.rejects(makeMachineToken({ ...first, PRIVATE_PORT_TOKEN: '', PUBLIC_HTTPS: 'on' }), {
    message: /^PRIVATE_PORT_TOKEN is not set: .*\nEDGE_TOKEN is not set: .*\n`platform secrets init` makes them$/,
  });
  await assert.rejects(makeMachineToken({ ...first, DATABASE_URL: '' }), {
    message: /embedded Postgres serves one machine/,
  });
});

test('the commands make a token and write a private file', async () => {
  const file = path.join(folder, 'first.env');
  writeFileSync(
    file,
    Object.entries(first)
      .map(([name, value]) => `${name}='${value}'\n`)
      .join(''),
  );
  const platform = async (input: string, env: Record<string, string>, ...words: string[]) => {
    const shell = recordingShell(folder, { PLATFORM_HOME: folder, ...env }, { input });
    return { code: await run(words, shell), output: shell.output, errors: shell.errors };
  };
  const made = await platform('', {}, 'machines', 'token', '--file', 'first.env');
  assert.equal(made.code, 0, made.errors.join('\n'));
  const words = ['join', '--name', 'm4', '--address', '10.0.0.4'];
  const joined = await platform(made.output[0]!, { DATABASE_URL: database.url, FS_PATH: folder }, ...words);
  assert.equal(joined.code, 0, joined.errors.join('\n'));
  assert.match(joined.output[0]!, /^Joined as m4: platform\.env has the variables/);
  const target = path.join(folder, 'platform.env');
  const values = parseEnv(readFileSync(target, 'utf8'));
  assert.deepEqual(
    [values['MACHINE_NAME'], values['FILES_S3_BUCKET'], values['PLATFORM_PARTS'], statSync(target).mode & 0o777],
    ['m4', 'files of all', 'handler,mirror', 0o600],
  );
  // The private port listens on the machines' network alone.
  assert.deepEqual([values['HOST'], values['HANDLER_HOST']], ['10.0.0.4', '0.0.0.0']);
  const again = await platform(made.output[0]!, {}, ...words);
  assert.equal(again.code, 1);
  assert.match(again.errors.join('\n'), /The token was used by machine m4/);
});
