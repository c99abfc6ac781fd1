// The first start: an operator without any Git host, whose token is made once and kept.
import assert from 'node:assert/strict';
import { existsSync, readFileSync, rmSync, statSync, writeFileSync } from 'node:fs';
import { after, before, test } from 'node:test';
import { ensureFirstRun } from '#control/sign-in/first-run.ts';
import { startControl, type TestControl } from '#test/setup/control.ts';

let control: TestControl;
before(async () => {
  control = await startControl();
  await control.sql`DELETE FROM control.account`;
  await control.sql`DELETE FROM control.organization`;
});
after(() => control.close());

test('the first start makes an operator and a token, also where two processes start at once', async () => {
  const [one, two] = await Promise.all([ensureFirstRun(control.deps), ensureFirstRun(control.deps)]);
  assert.deepEqual([one!.isNew, two!.isNew].sort(), [false, true]);
  assert.equal(one!.token, two!.token);
  assert.equal(readFileSync(one!.file, 'utf8'), `${one!.token}\n`);
  assert.equal(statSync(one!.file).mode & 0o777, 0o600);
  const { status, body } = await control.call('GET', '/user', undefined, one!.token);
  assert.equal(status, 200);
  const [organization, ...more] = body.organizations;
  assert.deepEqual([body.login, body.isOperator, more], ['admin', true, []]);
  assert.deepEqual([organization.slug, organization.role], ['main', 'owner']);
  assert.deepEqual(
    [...(await control.sql`SELECT slug, is_first FROM control.organization`)],
    [{ slug: 'main', is_first: true }],
  );
});

test('a later start knows the token, and makes none', async () => {
  const first = await ensureFirstRun(control.deps);
  assert.equal(first.isNew, false);
  assert.match(first.token!, /^plt_/);
  assert.equal((await control.sql`SELECT 1 FROM control.account`).length, 1);
});

test('an empty file asks for another token, and the earlier one is revoked', async () => {
  const { token: before, file } = await ensureFirstRun(control.deps);
  writeFileSync(file, '');
  const next = await ensureFirstRun(control.deps);
  assert.equal(next.isNew, true);
  assert.notEqual(next.token, before);
  assert.equal((await control.call('GET', '/user', undefined, before)).status, 401);
  assert.equal((await control.call('GET', '/user', undefined, next.token)).status, 200);
  assert.equal(statSync(file).mode & 0o777, 0o600);
});

test('a token that was revoked is followed by another at the next start, where its file is gone by none', async () => {
  const { file, token: before } = await ensureFirstRun(control.deps);
  await control.sql`UPDATE control.token SET revoked_at = now()`;
  const next = await ensureFirstRun(control.deps);
  assert.equal(next.isNew, true);
  assert.equal((await control.call('GET', '/user', undefined, before)).status, 401);
  assert.equal((await control.call('GET', '/user', undefined, next.token)).status, 200);
  rmSync(file);
  assert.deepEqual(await ensureFirstRun(control.deps), { token: null, isNew: false, file });
  assert.equal(existsSync(file), false);
});
