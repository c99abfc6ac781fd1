// URLs of databases: what libpq, other drivers and hosters write into them.
import assert from 'node:assert/strict';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { test } from 'node:test';
import { toAddress, urlAs } from '#postgres/address.ts';

test('a URL says who asks which database where', () => {
  const { user, password, host, port, database, ssl, options } = toAddress(
    'postgres://ann:p%40ss%2F%3A@db.example.com:6543/shop',
    {},
  );
  assert.deepEqual(
    [user, password, host, port, database, ssl, options],
    ['ann', 'p@ss/:', 'db.example.com', 6543, 'shop', false, ''],
  );
  const short = toAddress('postgresql://ann@localhost', {});
  assert.deepEqual([short.host, short.port, short.database], ['localhost', undefined, 'ann']);
  assert.equal(toAddress('postgres://ann@[::1]/x', {}).host, '::1');
  assert.equal(toAddress('postgres://a%2Fb:c@host/my%2Fdata%20base%2541', {}).database, 'my/data base%41');
  assert.equal(toAddress('postgres://a%2Fb:c@host/x', {}).user, 'a/b');
});

test('a folder of a Unix socket may be the host, and needs no TLS', () => {
  for (const url of [
    'postgres://ann:x@localhost/shop?host=/run/postgresql',
    'postgres://ann:x@%2Frun%2Fpostgresql/shop?sslmode=require',
  ]) {
    const { host, database, ssl } = toAddress(url, {});
    assert.deepEqual([host, database, ssl], ['/run/postgresql', 'shop', false]);
  }
});

test('what else is in the query becomes settings of the session, after which come ours', () => {
  const url =
    'postgres://ann@host/x?options=-c%20work_mem%3D8MB&lock_timeout=5s&search_path=theirs&connect_timeout=3&pgbouncer=true';
  assert.equal(
    toAddress(url, { search_path: 'binding', note: 'a b\\c' }).options,
    '-c work_mem=8MB -c lock_timeout=5s -c search_path=theirs -c search_path=binding -c note=a\\ b\\\\c',
  );
});

test('TLS is verified unless the URL says otherwise', () => {
  const of = (query: string): unknown => {
    const { ssl } = toAddress(`postgres://ann@host/x?${query}`, {});
    return typeof ssl === 'object' ? { ...ssl } : ssl;
  };
  for (const query of ['', 'sslmode=disable', 'ssl=false', 'ssl=0']) assert.equal(of(query), false, query);
  for (const query of ['sslmode=require', 'sslmode=allow', 'ssl=require', 'sslmode=no-verify'])
    assert.deepEqual(of(query), { rejectUnauthorized: false }, query);
  for (const query of [
    'sslmode=verify-full',
    'sslmode=verify-ca',
    'ssl=true',
    'ssl=1',
    'sslrootcert=system',
    'sslmode=nonsense',
  ])
    assert.deepEqual(of(query), {}, query);
  assert.deepEqual(of('sslmode=prefer'), { rejectUnauthorized: false });
  assert.equal(toAddress('postgres://ann@host/x?sslmode=prefer', {}).isTlsOptional, true);
});

test('a certificate authority comes from the file that is named', () => {
  const folder = mkdtempSync(path.join(tmpdir(), 'platform-ca-'));
  const file = path.join(folder, 'ca.pem');
  writeFileSync(file, 'certificate');
  try {
    const url = `postgres://ann@host/x?sslmode=verify-full&sslrootcert=${encodeURIComponent(file)}`;
    assert.equal((toAddress(url, {}).ssl as { ca?: string }).ca, 'certificate');
  } finally {
    rmSync(folder, { recursive: true });
  }
});

test('what is no URL of a Postgres is refused without repeating it', () => {
  for (const url of [
    '',
    'secret',
    'mysql://ann:secret@host/x',
    'postgres//ann:secret@host',
    'postgres://ann:secret@host:port/x',
  ])
    assert.throws(
      () => toAddress(url, {}),
      (error: Error) =>
        /must have the form postgres:\/\/user:password@host:port\/database/.test(error.message) &&
        !error.stack!.includes('secret'),
    );
});

test('the same address as another user', () => {
  const url = 'postgres://ann:x@localhost/shop?host=/run/postgresql';
  assert.equal(urlAs(url, 'bob', 'p@ss'), 'postgres://bob:p%40ss@localhost/shop?host=/run/postgresql');
});
