// After a new encryption key, everything that is sealed is sealed anew, so that the earlier key can go.
import assert from 'node:assert/strict';
import { after, before, test } from 'node:test';
import { encryptionKeys, seal, unseal } from '#core/encryption.ts';
import { newDeploymentId, newId } from '#control/records/ids.ts';
import { resealAll } from '#control/operator/reseal.ts';
import { startControl, type TestControl } from '#test/setup/control.ts';

let control: TestControl;
before(async () => void (control = await startControl()));
after(() => control.close());

const OLD = '0123456789abcdef0123456789abcdef';
const NEW = 'fedcba9876543210fedcba9876543210';

test('what an earlier key has sealed is readable with the new key alone', async () => {
  const { sql, organizationId } = control;
  const old = encryptionKeys(OLD);
  const ids = { project: newId('project'), deployment: newDeploymentId(), webhook: newId('webhook') };
  const repository = newId('repository');
  const sealed = (context: string) => seal(old, `value of ${context}`, context);
  await sql`INSERT INTO control.project (id, organization_id, name) VALUES (${ids.project}, ${organizationId}, 'p')`;
  await sql`
    INSERT INTO control.deployment (id, project_id, organization_id, target, branch, source, variables)
    VALUES (${ids.deployment}, ${ids.project}, ${organizationId}, 'production', 'main', 'push',
      ${sealed(`deployment:${ids.deployment}`)})`;
  await sql`
    INSERT INTO control.webhook (id, organization_id, url, events, secret)
    VALUES (${ids.webhook}, ${organizationId}, 'https://x', '{}', ${sealed(`webhook:${ids.webhook}`)})`;
  await sql`
    INSERT INTO control.repository (id, organization_id, source, full_name, url, credentials)
    VALUES (${repository}, ${organizationId}, 'remote', 'x', 'https://x', ${sealed(`repository:${repository}`)})`;
  await sql`
    INSERT INTO control.identity (provider, subject, account_id, login, access_token)
    VALUES ('git-host', '7', ${control.owner.accountId}, 'ada', ${sealed('identity:git-host:7')})`;
  const drain = newId('drain');
  await sql`
    INSERT INTO control.log_drain (id, project_id, name, kind, target, secret, cursor)
    VALUES (${drain}, ${ids.project}, 'd', 'http', '{}', ${sealed(`drain:${drain}`)}, 0)`;
  const channel = newId('alertChannel');
  await sql`
    INSERT INTO control.alert_channel (id, name, kind, target, secret)
    VALUES (${channel}, 'c', 'slack', 'x', ${sealed(`alert_channel:${channel}`)})`;
  const provider = newId('aiProvider');
  await sql`
    INSERT INTO control.ai_provider (id, organization_id, name, kind, url, key)
    VALUES (${provider}, ${organizationId}, 'own', 'openai', 'https://x', ${sealed(`ai_provider:${provider}`)})`;
  await sql`INSERT INTO control.setting (name, value) VALUES ('MAIL_FROM', ${sealed('setting:MAIL_FROM')})`;
  const [host, account] = [newId('gitHost'), newId('gitAccount')];
  await sql`
    INSERT INTO control.git_host (id, kind, name, url, webhook_secret)
    VALUES (${host}, 'gitea', 'g', 'https://x', ${sealed(`git-host:${host}`)})`;
  await sql`
    INSERT INTO control.installation (id, organization_id, account_login, git_host_id, token)
    VALUES (${account}, ${organizationId}, 'ada', ${host}, ${sealed(`git-account:${account}`)})`;
  const both = encryptionKeys(`${NEW},${OLD}`);
  assert.deepEqual(await resealAll(sql, both), { resealed: 10, unreadable: 0 });
  assert.deepEqual(await resealAll(sql, both), { resealed: 0, unreadable: 0 });
  const alone = encryptionKeys(NEW);
  const [row] = await sql<Record<string, Buffer>[]>`
    SELECT (SELECT variables FROM control.deployment) AS deployment, (SELECT secret FROM control.webhook) AS webhook,
      (SELECT credentials FROM control.repository) AS repository, (SELECT access_token FROM control.identity) AS identity,
      (SELECT secret FROM control.log_drain) AS drain,
      (SELECT secret FROM control.alert_channel) AS channel, (SELECT key FROM control.ai_provider) AS provider,
      (SELECT webhook_secret FROM control.git_host) AS "gitHost", (SELECT token FROM control.installation) AS "gitAccount",
      (SELECT value FROM control.setting) AS setting`;
  const contexts = {
    deployment: `deployment:${ids.deployment}`,
    webhook: `webhook:${ids.webhook}`,
    repository: `repository:${repository}`,
    gitHost: `git-host:${host}`,
    gitAccount: `git-account:${account}`,
    identity: 'identity:git-host:7',
    drain: `drain:${drain}`,
    channel: `alert_channel:${channel}`,
    provider: `ai_provider:${provider}`,
    setting: 'setting:MAIL_FROM',
  };
  for (const [name, context] of Object.entries(contexts))
    assert.equal(unseal(alone, row![name]!, context), `value of ${context}`);
  assert.deepEqual(await resealAll(sql, encryptionKeys('another-key-of-32-characters-here!')), {
    resealed: 0,
    unreadable: 10,
  });
});
