// From a push to an artifact that waits for its release: claims, order, cancellation, limits, environment and log of
// builds, over real Postgres and Git.
import assert from 'node:assert/strict';
import { existsSync, mkdirSync, readFileSync, readdirSync, rmSync, writeFileSync } from 'node:fs';
import path from 'node:path';
import { after, before, test } from 'node:test';
import { runBuild } from '#builder/service/run-build.ts';
import type { RunBuild } from '#builder/steps/types.ts';
import { Failure } from '#core/failure.ts';
import { createDeployment } from '#control/releases/create-deployment.ts';
import { watchBuilds } from '#control/releases/request-builder.ts';
import { approveDeployment } from '#control/git-host/approval.ts';
import { openBuilds, type TestBuilds } from '#test/setup/builds.ts';
import { shellSteps } from '#test/setup/shell-steps.ts';
import { until } from '#test/setup/until.ts';

let builds: TestBuilds;
/** For builders of their own kinds, one after the other. */
let other: TestBuilds;
before(async () => {
  builds = await openBuilds(shellSteps);
  other = await openBuilds(shellSteps);
  await builds.start();
});
after(async () => {
  await builds.close();
  await other.close();
});

const page = 'mkdir out && echo "<p>$PLATFORM_BRANCH</p>" > out/index.html\n';
/** Waits until the test removes a file, and says that it does. */
const waits = (file: string): string => `echo waiting; while [ -e ${file} ]; do sleep 0.02; done\n`;

test('a push is built, stored, and handed to its release', async () => {
  const { push } = await builds.project('simple');
  const { id, commit } = await push({ 'build.sh': `echo hello\n${page}` });
  const row = await builds.ended(id);
  assert.equal(row.status, 'uploading');
  assert.equal(row.commit_sha, commit);
  assert.ok(existsSync(path.join(builds.folder, 'artifacts', row.artifact!, 'manifest.json')));
  const jobs = await builds.sql`SELECT kind, lease FROM control.job WHERE deployment_id = ${id}`;
  assert.deepEqual([...jobs], [{ kind: 'release', lease: null }]);
  const lines = await builds.log(id);
  assert.deepEqual(
    lines.map(({ seq }) => seq),
    lines.map((_, index) => index + 1),
  );
  assert.deepEqual(
    lines.filter(({ step }) => step === 'build'),
    [{ seq: 3, step: 'build', level: 'info', text: 'hello' }],
  );
  await until(() => readdirSync(path.join(builds.folder, 'builds', 'work')).length === 0);
});

test('a build that fails says why, and leaves nothing', async () => {
  const { push } = await builds.project('fails');
  const { id } = await push({ 'build.sh': 'echo no luck >&2; exit 3\n' });
  const { status, reason, error_message: message } = await builds.ended(id);
  assert.deepEqual([status, reason, message], ['failure', 'build_failed', 'build.sh ended with exit code 3']);
  const lines = await builds.log(id);
  assert.deepEqual(
    lines.slice(-2).map(({ level, text }) => [level, text]),
    [
      ['warn', 'no luck'],
      ['error', 'build.sh ended with exit code 3'],
    ],
  );
  assert.equal((await builds.sql`SELECT id FROM control.job WHERE deployment_id = ${id}`).length, 0);
});

test('a build sees the variables of its project and of the platform, and nothing of the builder', async () => {
  process.env['TEST_OF_BUILDER'] = 'not for builds';
  const project = await builds.project('variables');
  await project.variable('production', 'API_KEY', 'production-key', { kind: 'plaintext' });
  await project.variable('preview', 'API_KEY', 'preview-key', { kind: 'plaintext' });
  await project.variable('preview', 'COLOUR', 'green', { kind: 'plaintext' });
  await project.variable('branch', 'COLOUR', 'blue', { kind: 'plaintext', branch: 'Feature/New' });
  await project.variable('dev', 'DEV_ONLY', 'dev', { kind: 'plaintext' });
  const shows = { 'build.sh': `env | grep -v -E '^(PATH|PWD|SHLVL|OLDPWD|_)=' | sort\n${page}` };
  const environment = async (id: string): Promise<string[]> => {
    await builds.ended(id);
    return (await builds.log(id)).filter(({ step }) => step === 'build').map(({ text }) => text);
  };
  const main = await project.push(shows);
  assert.deepEqual(await environment(main.id), [
    'API_KEY=production-key',
    'CI=1',
    'PLATFORM_BRANCH=main',
    `PLATFORM_COMMIT=${main.commit}`,
    'PLATFORM_URL=http://variables.localhost:4001',
  ]);
  const feature = await project.push(shows, 'Feature/New');
  const lines = await environment(feature.id);
  assert.deepEqual(
    lines.filter((line) => !line.startsWith('PLATFORM_URL=')),
    ['API_KEY=preview-key', 'CI=1', 'COLOUR=blue', 'PLATFORM_BRANCH=Feature/New', `PLATFORM_COMMIT=${feature.commit}`],
  );
  assert.match(lines.at(-1)!, /^PLATFORM_URL=http:\/\/variables--feature-new-[0-9a-f]{6}\.localhost:4001$/);
});

test('a fork is built without variables, once somebody has approved it', async () => {
  const project = await builds.project('forked');
  await project.variable('preview', 'API_KEY', 'preview-key');
  const { commit } = await project.push({ 'build.sh': `env | grep -E 'API_KEY|PLATFORM_PR'\n${page}` });
  const id = await project.deploy('main', commit, { isFork: true, pullRequest: 7 });
  const other = await project.push({ 'build.sh': page }, 'other');
  await builds.ended(other.id);
  assert.equal((await builds.deployment(id)).status, 'queued');
  await approveDeployment(builds, id, 'usr_1');
  await builds.ended(id);
  const lines = (await builds.log(id)).filter(({ step }) => step === 'build').map(({ text }) => text);
  assert.deepEqual(lines, ['PLATFORM_PR=7']);
});

test('what the build of a preview leaves in its cache never gets into a build of production', async (t) => {
  // A package manager in the cache is a program that the next build runs, with its variables.
  const leaves: RunBuild = async (request) => {
    const program = path.join(request.cacheFolder!, 'program');
    request.onLine(
      'install',
      'info',
      existsSync(program) ? `runs that of ${readFileSync(program, 'utf8')}` : 'runs none',
    );
    writeFileSync(program, request.branch);
    return shellSteps(request);
  };
  const builder = await other.start({ runBuild: leaves });
  t.after(() => builder.close());
  const { push } = await other.project('caches');
  const ran: string[] = [];
  for (const branch of ['one', 'main', 'two', 'main']) {
    const { id } = await push({ 'build.sh': page }, branch);
    await other.ended(id);
    ran.push(`${branch} ${(await other.log(id)).find(({ step }) => step === 'install')?.text}`);
  }
  assert.deepEqual(ran, ['one runs none', 'main runs none', 'two runs that of one', 'main runs that of main']);
});

test('secrets are masked in all that a build writes', async () => {
  const project = await builds.project('secrets');
  await project.variable('production', 'API_KEY', 'correct horse battery');
  const { id } = await project.push({
    'build.sh': `echo "key: $API_KEY"; printf %s "$API_KEY" | base64; echo "$API_KEY" >&2; printf 'correct hor'; sleep 0.2; echo 'se battery'; exit 1\n`,
  });
  await builds.ended(id);
  const texts = (await builds.log(id)).filter(({ step }) => step === 'build').map(({ text }) => text);
  assert.deepEqual(texts.slice(0, -1).toSorted(), ['***', '***', '***', 'key: ***']);
});

test('the message of a failed command has its exit code and last output, without secrets and control characters', async () => {
  const builder = await other.start({ runBuild });
  const project = await other.project('last-words');
  await project.variable('production', 'API_KEY', 'correct horse battery');
  const { id } = await project.push({
    'platform.yaml': 'kind: static\nbuild: sh build.sh\nout: out\n',
    'build.sh': `printf 'no\\0 luck\\033[2J with %s\\nat all\\0' "$API_KEY"; exit 3\n`,
  });
  const { status, reason, error_message: message } = await other.ended(id);
  assert.deepEqual([status, reason], ['failure', 'build_failed']);
  assert.equal(message, 'The build command "sh build.sh" ended with exit code 3:\nno luck with ***\nat all');
  await builder.close();
});

test('a newer commit ends the build of an older one of its branch, and its processes', async () => {
  const project = await builds.project('superseded');
  const gate = path.join(builds.folder, 'gate-superseded');
  writeFileSync(gate, '');
  const first = await project.push({ 'build.sh': `sleep 300 & echo "pid $!"; ${waits(gate)}${page}` });
  const { text } = await builds.logged(first.id, 'pid ');
  const second = await project.push({ 'build.sh': page }, 'main', true);
  const ended = await builds.ended(first.id);
  assert.deepEqual([ended.status, ended.reason], ['canceled', 'superseded']);
  await until(() => !isAlive(Number(text.slice(4))));
  assert.equal((await builds.ended(second.id)).commit_sha, second.commit);
});

test('of two pushes at once one is built, the other superseded', async () => {
  const project = await builds.project('together');
  const gate = path.join(builds.folder, 'gate-together');
  const one = await project.push({ 'build.sh': `${waits(gate)}${page}` }, 'one');
  const two = await project.push({ 'build.sh': `${waits(gate)}${page}` }, 'two');
  writeFileSync(gate, '');
  const ids = await Promise.all([project.deploy('main', one.commit), project.deploy('main', two.commit)]);
  rmSync(gate);
  const reasons = await Promise.all(ids.map(async (id) => (await builds.ended(id)).reason));
  assert.deepEqual(reasons.toSorted(), ['superseded', null].toSorted());
});

test('a build whose lease was taken over ends, and changes nothing any more', async () => {
  const project = await builds.project('taken-over');
  const gate = path.join(builds.folder, 'gate-taken-over');
  writeFileSync(gate, '');
  const { id } = await project.push({ 'build.sh': `sleep 300 & echo "pid $!"; ${waits(gate)}${page}` });
  const { text } = await builds.logged(id, 'pid ');
  await builds.sql`UPDATE control.job SET lease = 'another', lease_until = now() + interval '1 hour'
    WHERE deployment_id = ${id}`;
  await until(() => !isAlive(Number(text.slice(4))));
  await until(() => readdirSync(path.join(builds.folder, 'builds', 'work')).every((name) => !name.startsWith(id)));
  const [job] = await builds.sql`SELECT lease, attempt FROM control.job WHERE deployment_id = ${id}`;
  assert.deepEqual(job, { lease: 'another', attempt: 1 });
  assert.equal((await builds.deployment(id)).status, 'building');
  await builds.sql`UPDATE control.job SET lease_until = now() - interval '1 s', attempt = 3 WHERE deployment_id = ${id}`;
  const { status, reason } = await builds.ended(id);
  assert.deepEqual([status, reason], ['failure', 'interrupted']);
});

test('the builder is asked for when a build is made, and while one waits', async () => {
  const stopping = new AbortController();
  try {
    const project = await other.project('wanted');
    let wants = 0;
    const deps = {
      sql: other.sql,
      stopping: stopping.signal,
      onNotify: async (channel: string, heard: (payload: string) => void) =>
        (await other.sql.listen(channel, heard)).unlisten,
    };
    await watchBuilds(deps, () => wants++);
    await project.deploy('main', null);
    await until(() => wants > 0);
    const before = wants;
    await until(() => wants > before);
    await other.sql`DELETE FROM control.job`;
  } finally {
    stopping.abort();
  }
});

test('branches are built side by side, a branch one after the other', async () => {
  const builder = await other.start({ concurrency: 3 });
  const project = await other.project('parallel');
  const gate = path.join(other.folder, 'gate-parallel');
  writeFileSync(gate, '');
  const build = { 'build.sh': `${waits(gate)}${page}` };
  const one = await project.push(build, 'one');
  const two = await project.push(build, 'two');
  await other.logged(one.id, 'waiting');
  await other.logged(two.id, 'waiting');
  const three = await project.push(build, 'three');
  assert.equal((await other.deployment(three.id)).status, 'queued');
  await other.sql`UPDATE control.job SET cancel_reason = 'canceled' WHERE deployment_id = ${one.id}`;
  await other.sql`SELECT pg_notify('control_job', 'build')`;
  assert.equal((await other.ended(one.id)).reason, 'canceled');
  await other.logged(three.id, 'waiting');
  rmSync(gate);
  assert.equal((await other.ended(two.id)).reason, null);
  assert.equal((await other.ended(three.id)).reason, null);
  await builder.close();
});

test('where nothing can be confined, only the first organization builds, and no forks', async () => {
  const builder = await other.start({ confinement: { kind: 'none', reason: 'no bubblewrap' } });
  const first = await other.project('first');
  const second = await other.project('second', { isFirst: false });
  const own = await first.push({ 'build.sh': page });
  const stranger = await second.push({ 'build.sh': page });
  assert.equal((await other.ended(own.id)).reason, null);
  assert.equal((await other.ended(stranger.id)).reason, 'not_confined');
  const fork = await first.deploy('main', own.commit, { isFork: true });
  await approveDeployment(other, fork, 'usr_1');
  assert.equal((await other.ended(fork)).reason, 'not_confined');
  await builder.close();
});

test('what a build writes beyond the bound is dropped, said so once, and the build goes on', async () => {
  const builder = await other.start({ build: { logBytesMax: 100_000 } });
  const { push } = await other.project('loud');
  const { id } = await push({ 'build.sh': `head -c 5000000 /dev/zero | tr '\\0' 'x' | fold -w 99\n${page}` });
  assert.equal((await other.ended(id)).reason, null);
  const lines = (await other.log(id)).filter(({ step }) => step === 'build');
  assert.equal(lines.filter(({ text }) => text.startsWith('output truncated')).length, 1);
  assert.ok(lines.length < 1000);
  await builder.close();
});

test('a build whose artifact cannot be stored for all machines fails, and says so', async () => {
  const message = 's3://bucket/ cannot be used: the storage answers 403';
  const upload = () => Promise.reject(new Failure('artifact_store', message, { reason: 'refused' }));
  const builder = await other.start({ artifacts: { ...other.options.artifacts, isShared: true, upload } });
  const { push } = await other.project('unstored');
  const { id } = await push({ 'build.sh': page });
  const row = await other.ended(id);
  assert.deepEqual(
    [row.status, row.reason, row.error_message],
    [
      'failure',
      'artifact_not_stored',
      'The artifact could not be stored: the storage of artifacts refuses the request. The log of the platform has the cause',
    ],
  );
  await builder.close();
});

test('a build that takes too long ends as timeout, one where the disk is nearly full does not begin', async () => {
  const { push } = await other.project('bounds');
  const slow = await other.start({ build: { timeoutMs: 300 } });
  const late = await push({ 'build.sh': 'sleep 300\n' });
  const timeout = await other.ended(late.id);
  assert.deepEqual([timeout.status, timeout.reason], ['timeout', 'build_timeout']);
  assert.match(timeout.error_message!, /300 ms \(BUILD_TIMEOUT_MS\)/);
  await slow.close();
  const full = await other.start({ limits: { ...other.options.limits, diskFreeBytesMin: 2 ** 52 } });
  const refused = await other.ended((await push({ 'build.sh': page })).id);
  assert.deepEqual([refused.status, refused.reason], ['failure', 'disk_full']);
  const told = 'The disk of the platform is too full for this build: deploy again when the operator has freed space';
  assert.equal(refused.error_message, told);
  await full.close();
});

test('a build of an organization whose storage is full does not begin, and clears its caches where it is to', async () => {
  const builder = await other.start();
  const { push, id: projectId } = await other.project('kept');
  const cache = path.join(other.folder, 'builds', 'caches', `${projectId}.production`);
  mkdirSync(path.join(cache, 'npm'), { recursive: true });
  await other.sql`UPDATE control.organization SET storage_full = true`;
  const { id, commit } = await push({ 'build.sh': page });
  const refused = await other.ended(id);
  assert.deepEqual(readdirSync(cache), ['npm']);
  const { id: again } = await createDeployment(other, {
    projectId,
    branch: 'main',
    commit,
    source: 'redeploy',
    createdBy: null,
    input: { clearCache: true },
  });
  assert.equal((await other.ended(again)).reason, 'storage_full');
  assert.equal(existsSync(cache), false);
  await other.sql`UPDATE control.organization SET storage_full = false`;
  assert.deepEqual(
    [refused.status, refused.reason, refused.error_message],
    [
      'failure',
      'storage_full',
      'The storage of this organization is full: delete unused data (the Usage page lists the largest items), or ask the operator for a larger plan',
    ],
  );
  await builder.close();
});

test('a build goes on while its connections to Postgres are cut twice, with each line of its log once', async () => {
  const builder = await other.start();
  const gate = path.join(other.folder, 'gate-cut');
  writeFileSync(gate, '');
  const { push } = await other.project('cut');
  const { id } = await push({
    'build.sh': `n=0; while [ -e ${gate} ]; do n=$((n+1)); echo "line $n"; sleep 0.02; done; echo "last $n"; ${page}`,
  });
  await other.logged(id, 'line 3');
  for (let round = 0; round < 2; round++) {
    const { length } = await other.log(id);
    await builds.sql`
      SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE datname = ${new URL(other.url).pathname.slice(1)}`;
    await until(async () => (await other.log(id).catch(() => [])).length > length);
  }
  rmSync(gate);
  // A connection may learn only now that it is gone.
  const { reason, artifact } = await until(() => other.ended(id).catch(() => null));
  assert.deepEqual([reason, artifact === null], [null, false]);
  const texts = (await other.log(id)).filter(({ step }) => step === 'build').map(({ text }) => text);
  const count = Number(/^last (\d+)$/.exec(texts.at(-1)!)![1]);
  assert.deepEqual(texts, [...Array.from({ length: count }, (_, n) => `line ${n + 1}`), `last ${count}`]);
  await builder.close();
});

function isAlive(pid: number): boolean {
  try {
    process.kill(pid, 0);
    return true;
  } catch {
    return false;
  }
}
