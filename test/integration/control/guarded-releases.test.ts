// Guarded releases with minutes of usage that the test writes: each step's share of the visitors, the promotion, the
// rollback with its alert, webhooks, and what people do meanwhile.
import assert from 'node:assert/strict';
import { mkdirSync, writeFileSync } from 'node:fs';
import path from 'node:path';
import { after, before, test } from 'node:test';
import { artifactId, canonicalJson, hashOf } from '#core/artifact-id.ts';
import { bucketOf, latencyScale } from '#core/histogram.ts';
import { defaultLimits } from '#core/limits.ts';
import type { Manifest } from '#core/manifest.ts';
import type { ReleaseSettings } from '#core/release-settings.ts';
import { readRoute } from '#artifacts/route-records.ts';
import type { PrivatePort } from '#control/process/private-port.ts';
import { newDeploymentId } from '#control/records/ids.ts';
import { judgeNext } from '#control/releases/judge-next.ts';
import { redeployOnVariables } from '#control/releases/redeploy.ts';
import { runReleases } from '#control/releases/release-jobs.ts';
import { addRelease } from '#control/releases/uploads.ts';
import { addUsage } from '#control/usage/store.ts';
import { staticArtifact } from '#test/setup/archives.ts';
import { startControl, type TestControl } from '#test/setup/control.ts';
import { until } from '#test/setup/until.ts';
import { usageRow } from '#test/setup/usage-row.ts';

// oxlint-disable-next-line typescript/no-explicit-any -- what the API answered
type Json = any;

/** Engines that start every worker and have every route at once. */
const engines: PrivatePort = {
  ask: <Body>() =>
    Promise.resolve({
      status: 200,
      body: { warmed: true, error: null, lines: [], databases: [], routed: true } as Body,
    }),
};

const inSteps: ReleaseSettings = { steps: [5, 25, 100], minutes: 5, errors: '1%', p99: '1.5x', cpu: '2x' };

let control: TestControl;
before(async () => {
  control = await startControl({
    privatePort: engines,
    limits: { ...defaultLimits.control, requestsPerMinute: 1_000_000 },
  });
  control.deps.background('Releasing', () => runReleases(control.deps));
});
after(() => control.close());

/** Stores an artifact with a worker. @returns its id */
function storeArtifact(release?: ReleaseSettings): string {
  const code = `export default { fetch: () => new Response('${Math.random()}') };`;
  const manifest: Manifest = {
    ...staticArtifact().manifest,
    kind: 'dynamic',
    worker: { hash: hashOf(code), bytes: Buffer.byteLength(code), mapHash: null },
    assets: null,
    ...(release && { release }),
  };
  const id = artifactId(manifest);
  const folder = path.join(control.deps.folder, 'artifacts', id);
  mkdirSync(folder, { recursive: true });
  writeFileSync(path.join(folder, 'manifest.json'), canonicalJson(manifest));
  writeFileSync(path.join(folder, 'worker.js'), code);
  return id;
}

/** A project whose production was released, and that has settings for guarded releases where given. */
async function makeProject(name: string, release?: Partial<ReleaseSettings>) {
  const { body } = await control.call('POST', '/projects', { name, organizationId: control.organizationId });
  const id = body.id as string;
  if (release !== undefined) {
    const changed = await control.call('PATCH', `/projects/${id}`, { release });
    assert.equal(changed.status, 200, JSON.stringify(changed.body));
  }
  const first = await deploy(id, inSteps);
  assert.equal(readRoute(control.deps.folder, name)!.production, first);
  return { id, name, first };
}

/** Releases a deployment to production. @returns its id, once it has ended */
async function deploy(projectId: string, release?: ReleaseSettings): Promise<string> {
  const { sql, organizationId } = control;
  const id = newDeploymentId();
  await sql.begin(async (tx) => {
    await tx`
      INSERT INTO control.deployment (id, project_id, organization_id, status, target, branch, source, artifact,
        created_at)
      VALUES (${id}, ${projectId}, ${organizationId}, 'uploading', 'production', 'main', 'upload',
        ${storeArtifact(release)}, clock_timestamp())`;
    await addRelease(tx, id);
  });
  await released(id);
  return id;
}

const released = (id: string): Promise<unknown> =>
  until(
    async () => (await sqlOne(`SELECT FROM control.deployment WHERE id = '${id}' AND status = 'success'`)) !== null,
  );

async function sqlOne(text: string): Promise<Json> {
  const [row] = await control.sql.unsafe(text);
  return row ?? null;
}

const guardedOf = async (id: string): Promise<Json> =>
  (await control.call('GET', `/deployments/${id}`)).body.guardedRelease;

/** What visitors get. */
function served(name: string) {
  const { production, split = null } = readRoute(control.deps.folder, name)!;
  return { production, split };
}

/** Counts requests of this minute, of 20 ms each. */
async function visit(project: string, deployment: string, requests: number, failures = 0): Promise<void> {
  const firstByte = { buckets: [bucketOf(latencyScale, 20)], counts: [requests] };
  const statuses = [requests - failures, 0, 0, failures, 0];
  const row = { deployment, invocations: requests, failures, statuses, cpuMs: requests, cpuMsMax: 2, firstByte };
  await control.sql.begin((tx) => addUsage(tx, [usageRow(project, row)]));
}

/** Judges all releases that run, as if their steps had begun so many minutes ago. */
async function judgeAfter(minutes: number): Promise<void> {
  await control.sql`
    UPDATE control.guarded_release SET step_at = now() - ${minutes} * interval '1 minute', due_at = now()
    WHERE state = 'running'`;
  while (await judgeNext(control.deps));
}

const auditOf = async (deployment: string): Promise<string[]> => {
  const rows = await control.sql<{ action: string }[]>`
    SELECT action FROM control.audit_event WHERE subject_id = ${deployment} ORDER BY seq`;
  return rows.map(({ action }) => action);
};

test('a good release gets 5 %, then 25 % of the visitors, and becomes production', async () => {
  const { id, name, first } = await makeProject('good');
  const webhook = await control.call('POST', `/orgs/${control.organizationId}/webhooks`, {
    url: 'https://hooks.example.com/',
    projectId: id,
    events: ['release.started', 'release.advanced', 'release.promoted', 'deployment.promoted'],
  });
  const next = await deploy(id, inSteps);
  assert.deepEqual(served(name), { production: first, split: { deployment: next, percent: 5 } });
  await visit(name, first, 1900);
  await visit(name, next, 100);
  await judgeAfter(4);
  assert.equal((await guardedOf(next)).percent, 5);
  await judgeAfter(5);
  assert.deepEqual(served(name), { production: first, split: { deployment: next, percent: 25 } });
  const guarded = await guardedOf(next);
  const seen = { failures: 0, p99Ms: guarded.steps[0].now.p99Ms, cpuMs: 1 };
  assert.deepEqual(
    guarded.steps.map(({ percent, now, before: old, verdict }: Json) => ({ percent, now, before: old, verdict })),
    [
      {
        percent: 5,
        now: { requests: 100, ...seen },
        before: { requests: 1900, ...seen },
        verdict: 'Within its limits: 0 % of 100 requests failed (0 % before), p99 20 ms (20 ms), CPU 1 ms (1 ms)',
      },
      { percent: 25, now: null, before: null, verdict: null },
    ],
  );
  await judgeAfter(5);
  assert.deepEqual(served(name), { production: next, split: null });
  const { state, reason, percent } = await guardedOf(next);
  assert.deepEqual([state, percent], ['promoted', 100]);
  assert.match(reason, /^Within its limits: 0 % of 100 requests failed/);
  assert.deepEqual(await auditOf(next), ['release.start', 'deployment.succeed', 'release.advance', 'release.promote']);
  const events = await control.sql<{ event: string; percent: number }[]>`
    SELECT event, (body->'data'->>'percent')::int AS percent FROM control.webhook_delivery
    WHERE webhook_id = ${webhook.body.id} ORDER BY due_at, event`;
  assert.deepEqual(
    events.map(({ event, percent: share }) => [event, share]).toSorted(),
    [
      ['deployment.promoted', null],
      ['release.advanced', 25],
      ['release.promoted', 100],
      ['release.started', 5],
    ].toSorted(),
  );
  const lines = await control.sql<{ text: string }[]>`
    SELECT text FROM control.build_log WHERE deployment_id = ${next} AND step = 'release' ORDER BY seq`;
  assert.deepEqual(
    lines.map(({ text }) => text.split(/[.:]/)[0]),
    [
      'The worker has started on all engines',
      'A guarded release began',
      '25 % of the visitors now get this deployment',
      'Production now serves this deployment',
    ],
  );
});

test('a release that fails one request in thirty is rolled back, with an alert', async () => {
  const { id, name, first } = await makeProject('failing');
  const channel = await control.call('POST', `/projects/${id}/alert-channels`, {
    name: 'team',
    kind: 'webhook',
    url: 'https://hooks.example.com/',
  });
  assert.equal(channel.status, 201);
  const next = await deploy(id, inSteps);
  await visit(name, first, 5700);
  await visit(name, next, 300, 10);
  await judgeAfter(1);
  const why = 'Errors: 3.3 % of 300 requests failed, 0 % of 5700 before (limit: 1% more)';
  assert.deepEqual(served(name), { production: first, split: null });
  const { state, reason, percent, endedAt } = await guardedOf(next);
  assert.deepEqual([state, reason, percent, typeof endedAt], ['rolled_back', why, 0, 'string']);
  const [alert] = (await control.call('GET', `/projects/${id}/alerts`)).body.items;
  assert.deepEqual(
    [alert.type, alert.ruleId, alert.name, alert.message, alert.deliveries.length],
    ['fired', null, `Release of ${next} rolled back`, why, 1],
  );
  assert.deepEqual((await auditOf(next)).slice(-1), ['release.roll_back']);
});

test('a newer release replaces the one that runs, and begins with the first step', async () => {
  const { id, name, first } = await makeProject('replaced');
  const second = await deploy(id, inSteps);
  await judgeAfter(30);
  const third = await deploy(id, { ...inSteps, steps: [10, 100] });
  assert.deepEqual(served(name), { production: first, split: { deployment: third, percent: 10 } });
  const { state, reason } = await guardedOf(second);
  assert.deepEqual([state, reason], ['canceled', `${third} was released`]);
  const fourth = await deploy(id, { ...inSteps, steps: [100] });
  assert.deepEqual(served(name), { production: fourth, split: null });
  assert.deepEqual((await guardedOf(third)).reason, `${fourth} became production`);
});

test('promote with "now", rollback and split end a release by hand', async () => {
  const { id, name, first } = await makeProject('by-hand');
  const second = await deploy(id, inSteps);
  const again = await control.call('POST', `/deployments/${second}/promote`, {});
  assert.deepEqual([again.body.guarded, again.body.productionDeploymentId], [true, first]);
  const promoted = await control.call('POST', `/deployments/${second}/promote`, { now: true });
  assert.deepEqual([promoted.body.guarded, promoted.body.productionDeploymentId], [false, second]);
  assert.deepEqual(served(name), { production: second, split: null });
  assert.deepEqual((await guardedOf(second)).reason, 'Promoted by hand');

  const third = await deploy(id, inSteps);
  const rolledBack = await control.call('POST', `/projects/${id}/rollback`, {});
  assert.deepEqual(
    [rolledBack.status, rolledBack.body.productionDeploymentId, rolledBack.body.previousDeploymentId],
    [200, second, third],
  );
  assert.deepEqual(served(name), { production: second, split: null });
  const ended = await guardedOf(third);
  assert.deepEqual([ended.state, ended.reason], ['canceled', 'Rolled back by hand']);
  // Production did not move.
  const { releases } = (await control.call('GET', `/projects/${id}/analytics`)).body;
  assert.deepEqual(
    releases.map(({ deploymentId }: Json) => deploymentId),
    [first, second],
  );

  const repeated = await control.call('POST', `/projects/${id}/promote`, { deploymentId: third });
  assert.deepEqual([repeated.body.guarded, repeated.body.productionDeploymentId], [true, second]);
  assert.deepEqual(served(name), { production: second, split: { deployment: third, percent: 5 } });
  await control.call('POST', `/projects/${id}/split`, { deploymentId: third, percent: 50 });
  assert.deepEqual((await guardedOf(third)).reason, 'The traffic split was changed by hand');
  await judgeAfter(30);
  assert.deepEqual(served(name), { production: second, split: { deployment: third, percent: 50 } });
});

test('a rollback after the release returns to the deployment before it', async () => {
  const { id, name, first } = await makeProject('after');
  const next = await deploy(id, { ...inSteps, steps: [50, 100] });
  await judgeAfter(30);
  assert.deepEqual(served(name), { production: next, split: null });
  await control.call('POST', `/projects/${id}/rollback`, {});
  assert.deepEqual(served(name), { production: first, split: null });
  const { releases } = (await control.call('GET', `/projects/${id}/analytics`)).body;
  assert.deepEqual(
    releases.map(({ deploymentId, isRollback }: Json) => [deploymentId, isRollback]),
    [
      [first, false],
      [next, false],
      [first, true],
    ],
  );
});

test('the settings of the project are used where platform.yaml has none', async () => {
  const { id, name } = await makeProject('settings', { steps: [30, 100] });
  const { body } = await control.call('GET', `/projects/${id}`);
  assert.deepEqual(body.settings.release, { steps: [30, 100], minutes: 5, errors: '1%', p99: '1.5x', cpu: '2x' });
  const second = await deploy(id);
  assert.deepEqual(served(name).split, { deployment: second, percent: 30 });
  const third = await deploy(id, { ...inSteps, steps: [100] });
  assert.deepEqual(served(name), { production: third, split: null });
  await control.call('PATCH', `/projects/${id}`, { release: null });
  const fourth = await deploy(id);
  assert.deepEqual(served(name), { production: fourth, split: null });
});

test('settings that cannot be are refused with their key', async () => {
  const { id } = await makeProject('refused');
  const refusal = async (release: object): Promise<string> => {
    const { status, body } = await control.call('PATCH', `/projects/${id}`, { release });
    assert.equal(status, 400);
    return body.message;
  };
  assert.match(await refusal({ steps: [25, 5, 100] }), /body\.release\.steps: must rise: 5 follows 25/);
  assert.match(await refusal({ steps: [5] }), /body\.release\.steps: must end with 100, not with 5/);
  assert.match(await refusal({ errors: '200%' }), /release.errors/);
  assert.match(await refusal({ p99: '0.5x' }), /release.p99/);
  assert.match(await refusal({ minutes: 0 }), /release.minutes/);
  assert.match(await refusal({ stepps: [100] }), /release/);
});

test('changed variables redeploy the deployment whose release runs', async () => {
  const { id, name, first } = await makeProject('variables');
  await control.call('PATCH', `/projects/${id}`, { redeployOnVariables: true });
  const second = await deploy(id, inSteps);
  const made = await control.sql.begin((tx) =>
    redeployOnVariables(tx, id, [{ scope: 'production', branch: '' }], null),
  );
  assert.equal(made.length, 1);
  await released(made[0]!);
  assert.deepEqual(served(name), { production: first, split: { deployment: made[0]!, percent: 5 } });
  assert.equal((await guardedOf(second)).reason, `${made[0]} was released`);
});
