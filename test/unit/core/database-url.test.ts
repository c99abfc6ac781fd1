// URLs with several hosts: what is read from them, and what is refused without showing their password.
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { toAddress, urlAs } from '#postgres/address.ts';
import { checkDatabaseUrls, parseDatabaseUrl, readDatabaseUrl } from '#core/database-url.ts';
import { engineUrlOf } from '#postgres/engine-role.ts';
import { weakSecrets } from '#core/process/secret-variables.ts';

const pair = 'postgres://ann:p%40ss,word@a.example:5432,[::1]:5433/shop?target_session_attrs=read-write';

test('several hosts are read, and everything else as with one', () => {
  const { writers, user, password, database, options } = toAddress(pair, { TimeZone: 'UTC' });
  assert.deepEqual(
    [writers, user, password, database, options],
    [
      [
        { host: 'a.example', port: 5432 },
        { host: '::1', port: 5433 },
      ],
      'ann',
      'p@ss,word',
      'shop',
      '-c TimeZone=UTC',
    ],
  );
});

test('one host is asked whether it accepts writes only when the URL says so', () => {
  const of = (url: string): unknown => readDatabaseUrl(url).writers;
  assert.equal(of('postgres://ann@db/x'), null);
  assert.equal(of('postgres://ann@db/x?target_session_attrs=any'), null);
  assert.deepEqual(of('postgres://ann@db/x?target_session_attrs=primary'), [{ host: 'db', port: 5432 }]);
  assert.deepEqual(of('postgres://ann@[::1]:6/x?target_session_attrs=read-write'), [{ host: '::1', port: 6 }]);
  assert.equal(of('postgres://ann@localhost/x?host=/run/pg&target_session_attrs=read-write'), null);
});

test('another user has the same hosts', () => {
  assert.equal(
    urlAs(pair, 'platform_engine', 'a/b'),
    'postgres://platform_engine:a%2Fb@a.example:5432,[::1]:5433/shop?target_session_attrs=read-write',
  );
  assert.match(engineUrlOf(pair), /^postgres:\/\/platform_engine:[\da-f]{64}@a\.example:5432,\[::1\]:5433\/shop\?/);
});

test('what is wrong with a URL is said without any of its parts', () => {
  const form = 'postgres://user:password@a:5432,b:5432/database?target_session_attrs=read-write';
  for (const [rest, message] of [
    ['a:1,b:2/x', 'names several hosts, which need target_session_attrs=read-write'],
    ['a:1,b:2/x?target_session_attrs=any', 'names several hosts, which need target_session_attrs=read-write'],
    [
      'a:1,b:2/x?target_session_attrs=standby',
      'has an unsupported target_session_attrs: the platform writes, so use read-write',
    ],
    ['a:1/x?target_session_attrs=', 'has an unsupported target_session_attrs: the platform writes, so use read-write'],
    ['a,b:2/x', `has no host or no valid port in host 1 of 2: write ${form}`],
    ['a:1,b:/x', `has no host or no valid port in host 2 of 2: write ${form}`],
    ['a:1,b:65536/x', `has no host or no valid port in host 2 of 2: write ${form}`],
    ['a:1,:2/x', `has no host or no valid port in host 2 of 2: write ${form}`],
    ['a:1,/x', `has no host or no valid port in host 2 of 2: write ${form}`],
    ['a:1,A:1/x?target_session_attrs=read-write', `names the same host twice: write ${form}`],
    ['localhost/x?host=a,b', `names several hosts in ?host=: write ${form}`],
    [
      `${Array.from({ length: 9 }, (_, n) => `h${n}:1`).join(',')}/x?target_session_attrs=read-write`,
      'names 9 hosts: the maximum is 8',
    ],
    ['a:b/x', 'must have the form postgres://user:password@host:port/database'],
  ] as const)
    assert.throws(() => readDatabaseUrl(`postgres://ann:hidden@${rest}`), {
      message: `The connection URL of the database ${message}`,
    });
  assert.throws(
    () => readDatabaseUrl('postgres://ann:hid/den@a:1,b:2/x'),
    (error: Error) => !/hid|den@/.test(error.message),
  );
  assert.equal(parseDatabaseUrl('mysql://a/b'), null);
});

test('a weak password is found in a URL with several hosts', () => {
  assert.match(
    weakSecrets({ DATABASE_URL: 'postgres://ann:postgres@a:5432,b:5432/x?target_session_attrs=read-write' })[0]!,
    /^the password in DATABASE_URL/,
  );
});

test('the variable of a wrong URL is named', () => {
  assert.throws(() => checkDatabaseUrls({ DATABASE_URL: 'none', ENGINE_DATABASE_URL: 'postgres://u:hidden@a,b/x' }), {
    message:
      'ENGINE_DATABASE_URL has no host or no valid port in host 1 of 2: write ' +
      'postgres://user:password@a:5432,b:5432/database?target_session_attrs=read-write',
  });
});
