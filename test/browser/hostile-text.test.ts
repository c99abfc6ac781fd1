// Untrusted text in the dashboard, in Chromium: names, commit messages, build logs, worker logs, file names, state, the
// audit log. Each is markup that would run a script; every page shows it as text.
import assert from 'node:assert/strict';
import { mkdirSync, writeFileSync } from 'node:fs';
import path from 'node:path';
import { after, afterEach, before, test } from 'node:test';
import { newDeploymentId } from '#control/records/ids.ts';
import { findEmbeddedPostgres } from '#postgres/embedded.ts';
import { openSql } from '#postgres/sql.ts';
import { send } from '#test/setup/handler.ts';
import {
  openSharedDashboard,
  platformVariable,
  type SharedDashboard,
  type SharedPlatform,
} from '#test/setup/shared-dashboard.ts';
import { until } from '#test/setup/until.ts';
import { API_PAUSE_MS, eventually, type Json } from '#test/setup/whole-platform.ts';

const PROJECT = 'hostile-text';
/** Markup with scripts: in elements, in attributes, out of quotes, as a URL. */
const MARKUP = `"'><img src=x onerror="document.title='ran'"><svg onload="document.title='ran'"></svg><a href="javascript:document.title='ran'">x</a>`;
const NAME = MARKUP.slice(0, 52);

// Functions that run in the page see it by this name.
// oxlint-disable-next-line typescript/no-explicit-any -- the tests have no types of browsers
declare const document: any;

let dashboard: SharedDashboard;
let organization: Json;
let deployment: string;

before(async () => {
  dashboard = await openSharedDashboard('hostile');
  const { platform } = dashboard;
  const folder = path.join(platform.folder, PROJECT);
  mkdirSync(path.join(folder, 'src'), { recursive: true });
  writeFileSync(path.join(folder, 'platform.yaml'), 'kind: worker\nfs: {FILES: files}\nstate: {KV: kv}\n');
  writeFileSync(path.join(folder, 'package.json'), JSON.stringify({ name: PROJECT, type: 'module' }));
  writeFileSync(
    path.join(folder, 'src/index.js'),
    `const text = ${JSON.stringify(MARKUP)};
export default {
  async fetch(request, env) {
    console.log(text);
    console.error(new Error(text));
    await env.FILES.put(text.replaceAll('/', '|'), text);
    await env.KV.put(text, text);
    throw new Error(text);
  },
};`,
  );
  await platform.cli(folder, 'deploy');
  ({ organization } = dashboard);
  const [project] = (await platform.call('GET', `/orgs/${organization.id}/projects`)).items as Json[];
  await send(platform.ports.handler, `${PROJECT}.localhost:${platform.ports.handler}`, '/');
  const post = (at: string, body: object): Promise<Json> => platform.call('POST', at, body);
  await platform.call('PATCH', `/orgs/${organization.id}`, { name: NAME });
  await platform.call('PATCH', `/projects/${project.id}`, { description: MARKUP, buildCommand: MARKUP });
  await post('/tokens', { name: MARKUP.slice(0, 100), scope: 'read', organizationId: organization.id });
  await post(`/orgs/${organization.id}/ai/keys`, { name: MARKUP.slice(0, 100) });
  await post(`/projects/${project.id}/deploy-hooks`, { name: MARKUP.slice(0, 100), branch: 'main' });
  const url = 'https://example.com/';
  await post(`/projects/${project.id}/drains`, { name: MARKUP.slice(0, 100), target: { kind: 'http', url } });
  const { id: channel } = await post(`/projects/${project.id}/alert-channels`, {
    name: MARKUP.slice(0, 100),
    kind: 'webhook',
    url,
  });
  await post(`/projects/${project.id}/alert-rules`, {
    name: MARKUP.slice(0, 100),
    kind: 'error_rate',
    channels: [channel],
  });
  await post(`/environment-variables/${project.id}`, { key: 'K', value: MARKUP, kind: 'plaintext' });
  deployment = await addBuild(project.id);
  await eventually(
    'The lines',
    async () => (await platform.call('GET', `/projects/${project.id}/logs`)).items.length >= 2,
    API_PAUSE_MS,
  );
});
afterEach(() => dashboard?.closePages());
after(() => dashboard?.close());

/** A build that failed, as a push and a builder leave it. */
async function addBuild(projectId: string): Promise<string> {
  const { folder } = JSON.parse(process.env[platformVariable]!) as SharedPlatform;
  const { url } = findEmbeddedPostgres(path.join(folder, 'data', 'postgres'))!;
  const sql = openSql({ url, name: 'test', connectionsMax: 1 });
  const id = newDeploymentId();
  try {
    await sql`
      INSERT INTO control.deployment (id, project_id, organization_id, status, reason, error_message, target, branch,
        commit_sha, commit_message, author, pull_request, source)
      VALUES (${id}, ${projectId}, ${organization.id}, 'failure', 'build_failed', ${MARKUP}, 'preview', ${MARKUP},
        ${'0'.repeat(40)}, ${MARKUP}, ${MARKUP}, 7, 'push')`;
    await sql`INSERT INTO control.branch (project_id, name, deployment_id) VALUES (${projectId}, ${MARKUP}, ${id})`;
    for (const level of ['info', 'warn', 'error'])
      await sql`
        INSERT INTO control.build_log (deployment_id, seq, step, level, text)
        SELECT ${id}, coalesce(max(seq), 0) + 1, 'build', ${level}, ${`${MARKUP} at src/${MARKUP}.ts:1:2`}
        FROM control.build_log WHERE deployment_id = ${id}`;
  } finally {
    await sql.end();
  }
  return id;
}

const pages: readonly (readonly [at: string, isShown: boolean])[] = [
  ['/', false],
  ['/projects/PROJECT', false],
  ['/projects/PROJECT/deployments', true],
  ['/deployments/DEPLOYMENT', true],
  ['/projects/PROJECT/previews', false],
  ['/projects/PROJECT/logs', true],
  ['/projects/PROJECT/logs/requests', false],
  ['/projects/PROJECT/storage/files/FILES', true],
  ['/projects/PROJECT/storage/state/KV', true],
  ['/projects/PROJECT/settings', false],
  ['/projects/PROJECT/settings/hooks', true],
  ['/projects/PROJECT/settings/drains', true],
  ['/projects/PROJECT/settings/alerts', true],
  ['/projects/PROJECT/settings/variables', true],
  ['/orgs/ORG/members', false],
  ['/orgs/ORG/tokens', true],
  ['/orgs/ORG/audit', false],
  ['/orgs/ORG/ai', true],
  ['/account', false],
];

for (const [at, isShown] of pages)
  test(`${at} shows markup as text`, async () => {
    const known = { PROJECT, DEPLOYMENT: deployment, ORG: organization.slug as string };
    const page = await dashboard.visit(
      at.replace(/PROJECT|DEPLOYMENT|ORG/g, (word) => known[word as keyof typeof known]),
    );
    // Parts of a line may be links.
    const text = (): Promise<string> => page.evaluate(() => document.body.innerText as string);
    if (isShown) await until(async () => (await text()).includes('onerror='));
    const found = await page.evaluate(() => ({
      title: document.title as string,
      elements: document.querySelectorAll('img[src="x"], svg[onload], [onerror], a[href^="javascript:"]')
        .length as number,
    }));
    assert.doesNotMatch(await text(), /Page not found/);
    assert.equal(found.elements, 0);
    assert.notEqual(found.title, 'ran');
  });

test('no page complains, and none asked another host', () => {
  assert.deepEqual(dashboard.complaints, []);
  assert.deepEqual([...dashboard.hosts], [new URL(dashboard.origin).host]);
});
