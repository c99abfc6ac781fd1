// Tokens of the AI gateway in Postgres: when several gateways know them, and when they end.
import assert from 'node:assert/strict';
import { test } from 'node:test';
import {
  issueSandboxToken,
  revokeSandboxToken,
  rotateSandboxToken,
} from '#control/gateway/accounts/postgres/sandbox-tokens.ts';
import { caller, AT, withDatabase, heard } from '#test/setup/ai-accounts.ts';

test('a gateway forgets a token at once when another revokes it, and when its deployment or project goes', () =>
  withDatabase(async ({ sql, accounts }) => {
    // On a clock that stands: nothing is forgotten because its time is over.
    const [one, other] = [await accounts([], () => AT), await accounts([], () => AT)];
    const issue = () => one.tokens.issue(caller, null);
    const until = async (token: string) => {
      while ((await other.tokens.authenticate(token)) !== 'invalid') await heard(sql);
    };
    const revoked = await issue();
    const [removed, kept] = [await issue(), await one.tokens.issue({ ...caller, deploymentId: null }, null)];
    for (const token of [revoked, removed, kept]) assert.notEqual(await other.tokens.authenticate(token), 'invalid');
    await one.tokens.revoke(revoked);
    await until(revoked);
    assert.deepEqual(await other.tokens.authenticate(removed), caller);
    await sql.all(`UPDATE control.deployment SET removed_at = now() WHERE id = 'd000000000001'`);
    await until(removed);
    assert.notEqual(await other.tokens.authenticate(kept), 'invalid');
    await sql.all(`UPDATE control.project SET deleted_at = now() WHERE id = 'shop'`);
    await until(kept);
    assert.deepEqual(await sql.all('SELECT * FROM control.ai_token'), []);
  }));

test('a token of a sandbox lives for an hour; another one takes its place, and it ends a minute later', () =>
  withDatabase(async ({ sql, accounts }) => {
    let at = AT;
    const { tokens: kept } = await accounts([], () => at);
    const owner = { organizationId: 'acme', projectId: 'shop', branch: 'main', runId: 'run_1' };
    const first = await issueSandboxToken(sql, owner, at);
    const expected = { ...owner, kind: 'sandbox', deploymentId: null, plan: 'free' };
    assert.deepEqual(await kept.authenticate(first.token), expected);
    at += 3_000_000;
    const second = (await rotateSandboxToken(sql, first.token, at))!;
    assert.deepEqual([first.expiresAt, second.expiresAt], [AT + 3_600_000, at + 3_600_000]);
    assert.deepEqual(await kept.authenticate(second.token), expected);
    at += 60_000;
    while ((await kept.authenticate(first.token)) !== 'expired') await heard(sql);
    assert.equal(await rotateSandboxToken(sql, first.token, at), null);
    at += 3_540_000;
    assert.equal(await kept.authenticate(second.token), 'expired');
    const third = await issueSandboxToken(sql, owner, at);
    assert.deepEqual(await kept.authenticate(third.token), expected);
    await revokeSandboxToken(sql, third.token);
    while ((await kept.authenticate(third.token)) !== 'invalid') await heard(sql);
    assert.equal(await rotateSandboxToken(sql, third.token, at), null);
  }));

test('a token has the plan that its organization has now', () =>
  withDatabase(async ({ sql, accounts }) => {
    const { tokens: kept } = await accounts([], () => AT);
    const token = await kept.issue(caller, null);
    assert.deepEqual(await kept.authenticate(token), caller);
    await sql.all(`UPDATE control.organization SET plan = 'pro' WHERE id = 'acme'`);
    for (;;) {
      const found = await kept.authenticate(token);
      assert.ok(typeof found !== 'string');
      if (found.plan === 'pro') break;
      await heard(sql);
    }
  }));

test('tokens are kept as hashes alone', () =>
  withDatabase(async ({ sql, accounts }) => {
    const token = await (await accounts([])).tokens.issue(caller, null);
    const [row] = await sql.all<{ text: string }>('SELECT t::text AS text FROM control.ai_token t');
    assert.ok(!row!.text.includes(token.slice(-43)));
  }));
