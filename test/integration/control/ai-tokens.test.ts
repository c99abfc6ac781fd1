// Tokens of the AI gateway for deployments: from the release to the worker's variables, and their end.
import assert from 'node:assert/strict';
import { after, before, test } from 'node:test';
import { readFileSync } from 'node:fs';
import path from 'node:path';
import { openPostgresAccounts, type PostgresAccounts } from '#gateway/accounts/postgres/accounts.ts';
import { removeBranch } from '#control/releases/branch-removal.ts';
import { until } from '#test/setup/until.ts';
import { startReleaseControl, type DeployedSource, type ReleaseControl } from '#test/setup/release-control.ts';

const says: DeployedSource = {
  code: `export default {
    fetch: (_, env) => Response.json([env.PLATFORM_AI_URL ?? null, env.PLATFORM_AI_TOKEN ?? null, env.vars]),
  };`,
  yaml: 'ai: true\n',
};

let all: ReleaseControl;
let accounts: PostgresAccounts;
before(async () => {
  all = await startReleaseControl();
  accounts = await openPostgresAccounts({
    connection: { url: all.control.databaseUrl, name: 'test gateway', connectionsMax: 2 },
    // Nothing is forgotten because its time is over.
    now: () => NOW,
    limitsOf: () => [],
    table: { providers: [], aliases: {}, auto: [] },
    keys: all.control.deps.keys,
    usageDays: 1,
    log: () => {},
  });
});
after(async () => {
  await accounts.close();
  await all.close();
});

const NOW = Date.now();
const seen = async (host: string): Promise<[url: string | null, token: string | null]> => {
  const { text } = await all.platform.fetch(host);
  return JSON.parse(text) as [string | null, string | null];
};
const isRevoked = (token: string): Promise<true | null> =>
  until(async () => ((await accounts.tokens.authenticate(token)) === 'invalid' ? true : null));

test('a deployment with ai: true has the URL and a token of its own, which tells who calls', async () => {
  const shop = await all.project('shop');
  const first = await all.deploy(shop, says);
  const second = await all.deploy(shop, says, 'try/it');
  const [url, token] = await seen('shop');
  const [, other] = await seen(`shop--${second.id}`);
  assert.equal(url, 'http://localhost:4002/ai');
  assert.notEqual(token, other);
  const caller = {
    kind: 'worker',
    organizationId: all.control.organizationId,
    projectId: shop,
    deploymentId: first.id,
    branch: 'main',
    plan: 'free',
    runId: null,
  };
  assert.deepEqual(await accounts.tokens.authenticate(token!), caller);
  assert.deepEqual(await accounts.tokens.authenticate(other!), {
    ...caller,
    deploymentId: second.id,
    branch: 'try/it',
  });
  const { owner } = JSON.parse(readFileSync(path.join(all.platform.folder, 'routes/shop.json'), 'utf8')) as {
    owner: unknown;
  };
  assert.deepEqual(owner, { organization: all.control.organizationId, project: shop });
});

test('one without ai: true has neither, and a deployment that fails keeps no token', async () => {
  const plain = await all.project('plain');
  const deployed = await all.deploy(plain, { ...says, yaml: '' });
  assert.deepEqual((await seen('plain')).slice(0, 2), [null, null]);
  const failed = await all.deploy(plain, { ...says, code: 'throw new Error("no");' });
  assert.equal(failed.status, 'failure');
  const { sql } = all.control;
  const ids = [deployed.id, failed.id];
  assert.deepEqual([...(await sql`SELECT 1 FROM control.ai_token WHERE deployment_id = ANY(${ids})`)], []);
});

test('a redeploy has a token of its own; another one of the same deployment replaces the first', async () => {
  const turned = await all.project('turned');
  const first = await all.deploy(turned, says);
  const [, before] = await seen('turned');
  const { body } = await all.control.call('POST', `/deployments/${first.id}/redeploy`);
  await all.ended((body as { deploymentId: string }).deploymentId);
  const [, redeployed] = await seen('turned');
  assert.notEqual(redeployed, before);
  assert.equal((await seen(`turned--${first.id}`))[1], before);
  const rotated = await all.control.call('POST', `/deployments/${first.id}/ai-token`);
  assert.deepEqual([rotated.status, rotated.body], [200, { routed: true }]);
  await isRevoked(before!);
  const [, next] = await seen(`turned--${first.id}`);
  assert.notEqual(next, before);
  assert.notEqual(await accounts.tokens.authenticate(next!), 'invalid');
  assert.equal((await seen('turned'))[1], redeployed);
});

test('a token ends with the branch that its deployment is of, and with the project', async () => {
  const gone = await all.project('gone');
  await all.deploy(gone, says);
  const preview = await all.deploy(gone, says, 'feature');
  const [[, live], [, ofBranch]] = [await seen('gone'), await seen(`gone--${preview.id}`)];
  for (const token of [live!, ofBranch!]) assert.notEqual(await accounts.tokens.authenticate(token), 'invalid');
  const asked = { projectId: gone, branch: 'feature', cause: 'by_hand' } as const;
  await removeBranch(all.control.deps, asked, () => Promise.resolve());
  await isRevoked(ofBranch!);
  assert.notEqual(await accounts.tokens.authenticate(live!), 'invalid');
  assert.equal((await all.control.call('DELETE', `/projects/${gone}?name=gone`)).status, 204);
  await isRevoked(live!);
});

test('a token is nowhere in the database as it is, and names of the platform are no names of variables', async () => {
  const safe = await all.project('safe');
  await all.deploy(safe, says);
  const [, token] = await seen('safe');
  const secret = token!.slice(-43);
  const { sql } = all.control;
  for (const table of ['ai_token', 'deployment', 'audit_event', 'job', 'build_log']) {
    const [found] = await sql.unsafe<{ there: boolean }[]>(
      `SELECT EXISTS (SELECT FROM control.${table} t WHERE t::text LIKE '%' || $1 || '%' OR t::text LIKE '%' || $2 || '%')
         AS there`,
      // Bytes are shown in hexadecimal.
      [secret, Buffer.from(secret).toString('hex')],
    );
    assert.equal(found!.there, false, table);
  }
  const refused = await all.control.call('POST', `/environment-variables/${safe}`, {
    key: 'PLATFORM_AI_TOKEN',
    value: 'x',
  });
  assert.equal(refused.status, 422);
  assert.match(JSON.stringify(refused.body), /PLATFORM_AI_TOKEN: names that begin with PLATFORM_ are reserved/);
});
