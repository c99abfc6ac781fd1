// Which builds go to a sandbox, to which one, and which are refused there.
import assert from 'node:assert/strict';
import { after, before, test } from 'node:test';
import { createDeployment } from '#control/releases/create-deployment.ts';
import { approveDeployment } from '#control/git-host/approval.ts';
import { openSandboxClient } from '#core/sandbox/service-client.ts';
import { buildPlace } from '#builder/steps/build-sandbox/place.ts';
import { buildFailure, type BuildRequest } from '#builder/steps/types.ts';
import { openBuilds, type TestBuilds } from '#test/setup/builds.ts';

let builds: TestBuilds;
const requests: BuildRequest[] = [];
const client = openSandboxClient({ url: 'http://127.0.0.1:9', token: 'x'.repeat(32) });

before(async () => {
  builds = await openBuilds(async (request) => {
    requests.push(request);
    throw buildFailure('build_failed', 'looked at');
  });
});
after(() => builds.close());

const organizationOf = async (project: string): Promise<string> => {
  const [row] = await builds.sql<{ organization_id: string }[]>`
    SELECT organization_id FROM control.project WHERE id = ${project}`;
  return row!.organization_id;
};
const seen = (deployment: string): BuildRequest => requests.find(({ deploymentId }) => deploymentId === deployment)!;

test('builds of chosen organizations go to the sandbox of their branch; the others are built here', async () => {
  const chosen = await builds.project('chosen');
  const other = await builds.project('other');
  await builds.sql`ALTER TABLE control.organization ADD COLUMN IF NOT EXISTS build_machine text`;
  const organizations = new Set([await organizationOf(chosen.id)]);
  const builder = await builds.start({ sandboxes: { client, organizations, machine: 'large' } });
  const first = await chosen.push({ 'a.txt': 'a' }, 'Feature/Login');
  const input = { clearCache: true };
  const asked = {
    projectId: chosen.id,
    branch: 'cleared',
    commit: null,
    source: 'push',
    createdBy: null,
    input,
  } as const;
  const { id: cleared } = await createDeployment(builds, asked);
  const fork = await chosen.deploy('main', null, { isFork: true, pullRequest: 7 });
  await approveDeployment(builds, fork, 'usr_1');
  const here = await other.push({ 'a.txt': 'a' });
  for (const id of [first.id, cleared, fork, here.id]) await builds.ended(id);
  assert.equal(seen(cleared).sandbox?.isCleared, true);
  const { sandbox } = seen(first.id);
  assert.deepEqual(sandbox?.place, buildPlace('chosen', 'Feature/Login'));
  assert.match(sandbox.place.id, /^feature-login-[0-9a-f]{16}$/);
  assert.deepEqual(sandbox.headers, { 'sandbox-options': '%7B%22machine%22%3A%22large%22%7D' });
  assert.deepEqual([sandbox.isCleared, sandbox.isTransient], [false, false]);
  await builds.sql`UPDATE control.organization SET build_machine = 'small' WHERE name = 'chosen'`;
  const small = await chosen.push({ 'a.txt': 'b' }, 'small');
  await builds.ended(small.id);
  assert.deepEqual(seen(small.id).sandbox?.headers, { 'sandbox-options': '%7B%22machine%22%3A%22small%22%7D' });
  assert.equal(seen(fork).sandbox?.isTransient, true);
  assert.equal(seen(here.id).sandbox, null);
  await builder.close();
});

test('a repository without an installation is refused, with the reason', async () => {
  const project = await builds.project('remote');
  const builder = await builds.start({ sandboxes: { client, organizations: null, machine: null } });
  const refusals: Record<string, string | null> = {};
  for (const [what, change] of [
    ['address', builds.sql`source = 'remote', installation_id = NULL`],
    ['uninstalled', builds.sql`source = 'git-host', installation_id = NULL, host_id = '5'`],
  ] as const) {
    await builds.sql`UPDATE control.repository SET ${change} WHERE id = ${project.repositoryId}`;
    const id = await project.deploy('main', null);
    const row = await builds.ended(id);
    assert.equal(row.reason, 'credentials_not_scoped');
    refusals[what] = row.error_message;
    assert.equal(seen(id), undefined);
  }
  const after = `, and only that gives credentials which read this repository and nothing else. Connect it through the Git host's application`;
  assert.deepEqual(refusals, {
    address: `remote is not built in a sandbox: it is connected by its address, not by the application of a Git host${after}`,
    uninstalled: `remote is not built in a sandbox: the application of the Git host is not installed for it${after}`,
  });
  await builder.close();
});
