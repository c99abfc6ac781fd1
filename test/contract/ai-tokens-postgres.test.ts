// Tokens of the AI gateway in Postgres: when several gateways know them, and when they end.
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { createAiTokens } from '#sandbox/service/ai-tokens.ts';
import { openPostgres } from '#postgres/connection.ts';
import { openSandboxRole } from '#postgres/sandbox-role.ts';
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

test('a token of a sandbox is of its project for an hour; another one takes its place, and it ends five minutes later', () =>
  withDatabase(async ({ url, sql, accounts }) => {
    let at = Date.now();
    const { tokens: kept } = await accounts([], () => at);
    const service = openPostgres({ url: await openSandboxRole(sql, url), name: 'service', connectionsMax: 1 });
    try {
      await service.all(`INSERT INTO sandbox.sandbox (key, project, resource, id, provider, state)
        VALUES ('k1', 'shop', 'box', 'a', 'local', 'running'), ('k2', 'nobody', 'box', 'a', 'local', 'running'),
          ('k3', 'shop', '.build', 'main', 'local', 'running')`);
      const tokens = createAiTokens(service);
      const first = (await tokens.issue('k1'))!;
      const expected = {
        kind: 'sandbox',
        organizationId: 'acme',
        projectId: 'shop',
        deploymentId: null,
        branch: null,
        plan: 'free',
        runId: null,
      };
      assert.deepEqual(await kept.authenticate(first), expected);
      const second = (await tokens.issue('k1'))!;
      const until = async (token: string, what: unknown) => {
        for (;;) {
          const found = await kept.authenticate(token);
          if (JSON.stringify(found) === JSON.stringify(what)) return;
          await heard(sql);
        }
      };
      at += 4 * 60_000;
      await until(first, expected);
      at += 2 * 60_000;
      await until(first, 'expired');
      assert.deepEqual(await kept.authenticate(second), expected);
      at += 53 * 60_000;
      assert.deepEqual(await kept.authenticate(second), expected);
      at += 2 * 60_000;
      assert.equal(await kept.authenticate(second), 'expired');
      // Of no project of the control plane, of the platform's own, of nobody.
      for (const key of ['k2', 'k3', 'k4']) assert.equal(await tokens.issue(key), null);
      at = Date.now();
      const third = (await tokens.issue('k1'))!;
      await until(third, expected);
      await tokens.revoke('k1');
      await until(third, 'invalid');
      const last = (await tokens.issue('k1'))!;
      await until(last, expected);
      await service.all(`DELETE FROM sandbox.sandbox WHERE key = 'k1'`);
      await until(last, 'invalid');
      assert.deepEqual(await sql.all('SELECT hash FROM control.ai_token'), []);
    } finally {
      await service.close();
    }
  }));

test('the role of the sandbox service sees no token, makes none of another kind, and none by itself', () =>
  withDatabase(async ({ url, sql }) => {
    const service = openPostgres({ url: await openSandboxRole(sql, url), name: 'service', connectionsMax: 1 });
    try {
      for (const statement of [
        'SELECT hash FROM control.ai_token',
        `DELETE FROM control.ai_token`,
        `UPDATE control.ai_token SET expires_at = NULL`,
        `INSERT INTO control.ai_token (hash, id, kind, organization_id) VALUES ('x', 'x', 'key', 'acme')`,
      ])
        await assert.rejects(service.all(statement), /permission denied/, statement);
      await assert.rejects(
        service.all(`SELECT sandbox.issue_ai_token('k', 'x', 'short')`),
        /no token of the AI gateway/,
      );
      // Others than the service's role make none at all.
      await sql.session((session) =>
        session.script(`SET ROLE platform_engine; DO $$ BEGIN PERFORM sandbox.revoke_ai_tokens('k');
          RAISE EXCEPTION 'it may'; EXCEPTION WHEN insufficient_privilege THEN NULL; END $$; RESET ROLE`),
      );
    } finally {
      await service.close();
    }
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
