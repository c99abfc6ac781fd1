// Uploads of `platform deploy`: in pieces, broken off and gone on with, verified, and refused with nothing kept.
import assert from 'node:assert/strict';
import { createHash } from 'node:crypto';
import { existsSync, readdirSync, statSync } from 'node:fs';
import { request } from 'node:http';
import path from 'node:path';
import { after, before, test } from 'node:test';
import { serveApi } from '#control/process/servers.ts';
import { createApi } from '#control/api/app.ts';
import { retire } from '#control/releases/retention.ts';
import { openArtifactsDisk } from '#artifacts/store/artifact-store-disk.ts';
import type { ArtifactStore } from '#artifacts/store/artifact-store.ts';
import { Failure } from '#core/failure.ts';
import { defaultLimits } from '#core/limits.ts';
import { archiveOf, staticArtifact } from '#test/setup/archives.ts';
import { startControl, type TestControl } from '#test/setup/control.ts';
import { until } from '#test/setup/until.ts';

let control: TestControl;
let project: string;
let isStoreAway = false;
before(async () => {
  const artifacts: ArtifactStore = {
    ...openArtifactsDisk('/none'),
    upload: () =>
      isStoreAway
        ? Promise.reject(new Failure('artifact_store', 's3://bucket/ cannot be used: no route', { reason: 'away' }))
        : Promise.resolve(),
  };
  const uploadLimits = { ...defaultLimits, artifactBytesMax: 100_000, artifactFilesMax: 10 };
  control = await startControl({ uploadLimits, artifacts });
  const { body } = await control.call('POST', '/projects', { name: 'shop', organizationId: control.organizationId });
  project = body.id as string;
});
after(() => control.close());

const good = staticArtifact('a page '.repeat(2000));
const archive = archiveOf(good.files);
const hashOf = (bytes: Uint8Array): string => createHash('sha256').update(bytes).digest('hex');
const files = (folder: string): string[] => {
  const at = path.join(control.deps.folder, folder);
  return existsSync(at) ? readdirSync(at) : [];
};

function announce(bytes: Uint8Array, more: object = {}, token?: string) {
  const body = { bytes: bytes.length, sha256: hashOf(bytes), branch: 'main', ...more };
  return control.call('POST', `/projects/${project}/uploads`, body, token);
}

function put(id: string, bytes: Uint8Array, from: number, all: number) {
  const range = `bytes ${from}-${from + bytes.length - 1}/${all}`;
  return control.send('PUT', `/uploads/${id}`, bytes, { 'content-range': range });
}

test('an upload is sent in pieces, goes on where it was, and becomes one deployment', async () => {
  const { status, body } = await announce(archive, { commit: 'abcdef0', message: 'by hand' });
  assert.deepEqual([status, body.received], [201, 0], JSON.stringify(body));
  const half = Math.floor(archive.length / 2);
  assert.equal((await put(body.id, archive.subarray(0, half), 0, archive.length)).body.received, half);
  const head = await control.call('HEAD', `/uploads/${body.id}`);
  assert.deepEqual([head.status, head.headers.get('upload-offset')], [200, String(half)]);
  // Whoever forgot its id announces it again.
  const again = await announce(archive, { commit: 'abcdef0', message: 'by hand' });
  assert.deepEqual([again.body.id, again.body.received], [body.id, half]);
  const wrong = await put(body.id, archive.subarray(0, 10), 0, archive.length);
  assert.deepEqual([wrong.status, wrong.headers.get('upload-offset')], [409, String(half)]);
  const early = await control.call('POST', `/uploads/${body.id}/deploy`);
  assert.match(early.body.message, new RegExp(`^The upload is incomplete: ${half} of ${archive.length} bytes`));
  assert.equal((await put(body.id, archive.subarray(half), half, archive.length)).body.received, archive.length);
  const made = await control.call('POST', `/uploads/${body.id}/deploy`);
  assert.deepEqual([made.status, made.body.artifact], [202, good.id], JSON.stringify(made.body));
  const same = await control.call('POST', `/uploads/${body.id}/deploy`);
  assert.equal(same.body.deploymentId, made.body.deploymentId);
  const [row] = await control.sql`
    SELECT status, target, branch, commit_sha, commit_message, source, kind, artifact FROM control.deployment
    WHERE id = ${made.body.deploymentId}`;
  assert.deepEqual(
    { ...row },
    {
      status: 'uploading',
      target: 'production',
      branch: 'main',
      commit_sha: 'abcdef0',
      commit_message: 'by hand',
      source: 'upload',
      kind: 'static',
      artifact: good.id,
    },
  );
  const jobs = await control.sql`SELECT kind FROM control.job WHERE deployment_id = ${made.body.deploymentId}`;
  assert.deepEqual([...jobs], [{ kind: 'release' }]);
  assert.deepEqual([files('uploads'), files('artifacts')], [[], [good.id]]);
});

test('a connection that breaks keeps what had come', async () => {
  const api = createApi();
  const server = await serveApi({
    variable: 'API_PORT',
    port: 0,
    host: '127.0.0.1',
    fetch: (request) => api.fetch(request, control.deps),
  });
  const other = archiveOf(staticArtifact('another page '.repeat(3000)).files);
  const { body } = await announce(other);
  const sent = 20_000;
  const broken = request({
    host: '127.0.0.1',
    port: server.port,
    path: `/uploads/${body.id}`,
    method: 'PUT',
    headers: { authorization: `Bearer ${control.owner.token}`, 'content-length': other.length },
  });
  broken.on('error', () => {});
  broken.on('response', ({ statusCode }) => assert.fail(`answered with ${statusCode}`));
  broken.write(other.subarray(0, sent));
  const at = path.join(control.deps.folder, 'uploads', body.id as string);
  await until(() => existsSync(at) && statSync(at).size === sent);
  broken.destroy();
  const received = await until(async () => {
    const { body: now } = await control.call('GET', `/uploads/${body.id}`);
    return now.received > 0 ? (now.received as number) : null;
  });
  assert.equal(received, sent);
  assert.equal((await put(body.id, other.subarray(sent), sent, other.length)).body.received, other.length);
  assert.equal((await control.call('POST', `/uploads/${body.id}/deploy`)).status, 202);
  await server.close();
});

test('a retry releases what was uploaded, also the retry of a retry, and never what Git has of the commit', async () => {
  const { body } = await announce(archive, { commit: 'a'.repeat(40) });
  await put(body.id, archive, 0, archive.length);
  let id = (await control.call('POST', `/uploads/${body.id}/deploy`)).body.deploymentId as string;
  for (let times = 0; times < 3; times++) {
    await control.sql`UPDATE control.deployment SET status = 'success' WHERE id = ${id}`;
    const { status, body: made } = await control.call('POST', `/deployments/${id}/retry`);
    assert.equal(status, 202, JSON.stringify(made));
    id = made.newDeploymentId as string;
    const [row] = await control.sql`
      SELECT source, artifact, (SELECT array_agg(kind) FROM control.job WHERE deployment_id = d.id) AS jobs
      FROM control.deployment d WHERE id = ${id}`;
    assert.deepEqual([row!['source'], row!['artifact'], row!['jobs']], ['upload', good.id, ['release']]);
  }
});

test('what is not what was announced, or no artifact, is refused and nothing of it is kept', async () => {
  const before = files('artifacts');
  const refuse = async (bytes: Uint8Array, code: string, message: RegExp, more: object = {}): Promise<void> => {
    const { body } = await announce(bytes, more);
    await put(body.id, bytes, 0, bytes.length);
    const made = await control.call('POST', `/uploads/${body.id}/deploy`);
    assert.equal(made.body.code, code, JSON.stringify(made.body));
    assert.match(made.body.message, message);
    assert.equal((await control.call('GET', `/uploads/${body.id}`)).status, 404);
    assert.deepEqual([files('artifacts'), files('uploads')], [before, []]);
  };
  await refuse(Buffer.from('hello'), 'archive_invalid', /The archive cannot be used: it is truncated/);
  await refuse(archiveOf({ ...good.files, '../../x': 'x' }), 'archive_invalid', /"\.\.\/\.\.\/x" has the part "\.\."/);
  await refuse(
    archiveOf({ ...good.files, 'assets/index.html': 'x' }),
    'artifact_invalid',
    /is not what its manifest says/,
  );
  const many = Object.fromEntries(Array.from({ length: 12 }, (_, n) => [`assets/${n}`, 'x']));
  await refuse(archiveOf({ ...good.files, ...many }), 'artifact_too_many_files', /BUILD_ARTIFACT_MAX_FILES/);
  await refuse(archiveOf(good.files), 'archive_invalid', /does not have the announced hash/, {
    sha256: 'a'.repeat(64),
  });
  const tooLarge = await control.call('POST', `/projects/${project}/uploads`, {
    bytes: 1e12,
    sha256: 'a'.repeat(64),
    branch: 'main',
  });
  assert.equal(tooLarge.status, 413, JSON.stringify(tooLarge.body));
  const { body } = await announce(Buffer.from('12345'));
  const more = await control.send('PUT', `/uploads/${body.id}`, Buffer.from('1234567890'), {});
  assert.equal(more.status, 413, JSON.stringify(more.body));
});

test("another organization's uploads do not exist, and those whose time is over go", async () => {
  const { body } = await announce(Buffer.from('mine'));
  await put(body.id, Buffer.from('mi'), 0, 4);
  const stranger = await control.account('eve', { [await control.organization('strangers')]: 'owner' });
  for (const [method, at] of [
    ['GET', `/uploads/${body.id}`],
    ['POST', `/uploads/${body.id}/deploy`],
  ] as const)
    assert.equal((await control.call(method, at, undefined, stranger.token)).status, 404);
  assert.equal((await announce(Buffer.from('x'), {}, stranger.token)).status, 404);
  await control.sql`UPDATE control.upload SET expires_at = now() - interval '1 s' WHERE id = ${body.id}`;
  assert.ok((await retire(control.deps)).uploads >= 1);
  assert.equal(files('uploads').includes(body.id as string), false);
});

test('an upload whose artifact cannot be stored for all machines makes no deployment, and can be deployed later', async () => {
  const { body } = await announce(archive);
  assert.equal((await put(body.id, archive, 0, archive.length)).status, 200);
  isStoreAway = true;
  const count = async (): Promise<number> =>
    (await control.deps.sql`SELECT FROM control.deployment WHERE project_id = ${project}`).length;
  const deployments = await count();
  const refused = await control.call('POST', `/uploads/${body.id}/deploy`);
  assert.deepEqual(
    [refused.status, refused.body.code, refused.body.message],
    [503, 'unavailable', 'The artifact could not be stored: the storage of artifacts does not answer. Try again'],
  );
  assert.equal(await count(), deployments);
  isStoreAway = false;
  assert.equal((await control.call('POST', `/uploads/${body.id}/deploy`)).status, 202);
  assert.equal(await count(), deployments + 1);
});
