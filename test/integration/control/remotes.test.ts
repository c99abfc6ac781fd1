// Plain remotes by ssh with a key that the platform generated, and polls: one for a repository, less often after
// failures. No server for ssh is at hand: what git would send to one is run here.
import assert from 'node:assert/strict';
import { execFileSync } from 'node:child_process';
import { chmodSync, mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { after, before, beforeEach, test } from 'node:test';
import { workOnPolls } from '#control/git-host/remote-polls.ts';
import { startConnectedHost, type ConnectedHost } from '#test/setup/connected-host.ts';
import { commitTo, createBareRepository, runGit } from '#test/setup/git-repositories.ts';

const HOST_KEY = 'AAAAC3NzaC1lZDI1NTE5AAAAIGGb58QVdYALBPXyBugR3jm0PkQyJpFX8rUH+rn/0/i9';
const FINGERPRINT = 'ssh-ed25519 SHA256:V3elAuX8TACeTGGsbbj7bJDWNcE8YfSs2ek51F3QzPo';

let connected: ConnectedHost;
const folder = mkdtempSync(path.join(tmpdir(), 'platform-remotes-'));
const pathBefore = process.env['PATH'];
const calls = (): string[] => readFileSync(path.join(folder, 'calls'), 'utf8').split('\n').filter(Boolean);
before(async () => {
  connected = await startConnectedHost({ GIT_REMOTE_PRIVATE_HOSTS: 'localhost' });
  mkdirSync(path.join(folder, 'bin'));
  // It takes the key that it was told of, and presents one key of its own.
  const script = `#!/bin/sh
echo "$*" >> ${folder}/calls
for last; do :; done
for word; do
  case "$word" in UserKnownHostsFile=*) known="\${word#*=}";; esac
  [ "$before" = -i ] && key="$word"
  before="$word"
done
cp "$key" ${folder}/key
[ -e ${folder}/refuses ] && { echo "git@localhost: Permission denied (publickey)." >&2; exit 255; }
[ -s "$known" ] || echo "localhost ssh-ed25519 ${HOST_KEY}" >> "$known"
exec sh -c "$last"
`;
  writeFileSync(path.join(folder, 'bin/ssh'), script);
  chmodSync(path.join(folder, 'bin/ssh'), 0o755);
  process.env['PATH'] = `${folder}/bin:${pathBefore}`;
});
after(async () => {
  process.env['PATH'] = pathBefore;
  await connected.close();
  rmSync(folder, { recursive: true, force: true });
});
beforeEach(() => {
  writeFileSync(path.join(folder, 'calls'), '');
  rmSync(path.join(folder, 'refuses'), { force: true });
});

const call = (method: string, at: string, body?: unknown, token?: string | null) =>
  connected.control.call(method, at, body, token);

function bareRepository(name: string): string {
  const bare = path.join(folder, `${name}.git`);
  createBareRepository(bare);
  commitTo(bare, { files: { a: '1' } });
  return bare;
}

async function deployKey(): Promise<{ deployKey: string; publicKey: string }> {
  const { organizationId } = connected.control;
  const made = await call('POST', '/repositories/deploy-key', { organizationId });
  assert.equal(made.status, 201, JSON.stringify(made.body));
  return made.body;
}

async function connectRemote(bare: string, more: object = {}) {
  const { organizationId } = connected.control;
  const body = { organizationId, source: 'remote', url: `git@localhost:${bare.slice(1)}`, ...more };
  return call('POST', '/repositories', { ...body, url: `ssh://git@localhost${bare}` });
}

async function projectOf(name: string, repositoryId: string): Promise<string> {
  const { organizationId } = connected.control;
  const { body } = await call('POST', '/projects', { name, organizationId });
  await call('POST', `/projects/${body.id}/repository`, { repositoryId });
  return body.id as string;
}

const due = (id: string) => connected.control.sql`UPDATE control.repository SET poll_due_at = now() WHERE id = ${id}`;
const pushed = async (projectId: string): Promise<string[]> =>
  (await connected.deployments(projectId)).map(({ branch, commit_sha }) => `${branch} ${commit_sha}`);

test('a generated key is added on the host, used, pinned to the key of the host, and shown by its public half', async () => {
  const bare = bareRepository('key');
  const { deployKey: id, publicKey } = await deployKey();
  assert.match(publicKey, /^ssh-ed25519 [A-Za-z0-9+/]{68} deploy@localhost$/);
  // The host does not have it yet: the same key is tried again later.
  writeFileSync(path.join(folder, 'refuses'), '');
  const early = await connectRemote(bare, { deployKey: id });
  assert.equal(early.status, 422);
  assert.match(early.body.message, /Permission denied \(publickey\)/);
  rmSync(path.join(folder, 'refuses'));
  const made = await connectRemote(bare, { deployKey: id });
  assert.equal(made.status, 201, JSON.stringify(made.body));
  const key = path.join(folder, 'key');
  chmodSync(key, 0o600);
  const privateKey = readFileSync(key, 'utf8');
  assert.match(
    privateKey,
    /^-----BEGIN OPENSSH PRIVATE KEY-----\n[A-Za-z0-9+/=\n]+-----END OPENSSH PRIVATE KEY-----\n$/,
  );
  let derived: string | null = null;
  try {
    derived = execFileSync('ssh-keygen', ['-y', '-f', key], { encoding: 'utf8', stdio: 'pipe' }).trim();
  } catch (error) {
    // A machine without OpenSSH cannot say what it thinks of the key.
    assert.equal((error as NodeJS.ErrnoException).code, 'ENOENT');
  }
  if (derived !== null) assert.equal(derived, publicKey);
  const { repository } = made.body;
  const shown = await call('GET', `/repositories/${repository.id}/remote`);
  assert.deepEqual(
    [shown.body.publicKey, shown.body.hostKeys, shown.body.pollSeconds, shown.body.problem],
    [publicKey, [FINGERPRINT], 300, null],
  );
  const secret = privateKey.split('\n')[3]!;
  for (const body of [made.body, shown.body, early.body]) assert.ok(!JSON.stringify(body).includes(secret));
  // Later connections check the key of the host.
  assert.match(calls()[0]!, /StrictHostKeyChecking=accept-new/);
  await due(repository.id);
  await projectOf('key', repository.id);
  assert.equal(await workOnPolls(connected.control.deps), 1);
  assert.match(calls().at(-1)!, /StrictHostKeyChecking=yes .*HostKeyAlias=localhost/);
  // It is used up, and it is of one organization.
  assert.match(
    (await connectRemote(bare, { deployKey: id })).body.message,
    /deploy key is unknown or older than a day/,
  );
  const other = await connected.control.organization('strangers');
  const mallory = await connected.control.account('mallory', { [other]: 'owner' });
  const { deployKey: fresh } = await deployKey();
  const body = { organizationId: other, source: 'remote', url: `ssh://git@localhost${bare}`, deployKey: fresh };
  assert.equal((await call('POST', '/repositories', body, mallory.token)).status, 422);
  assert.equal((await call('GET', `/repositories/${repository.id}/remote`, undefined, mallory.token)).status, 404);
});

test('a remote is polled once for all its projects, deploys what moved, and drops branches that are gone', async () => {
  const { deps } = connected.control;
  const bare = bareRepository('polled');
  const { deployKey: id } = await deployKey();
  const made = await connectRemote(bare, { deployKey: id, pollSeconds: 60 });
  const repositoryId: string = made.body.repository.id;
  const projects = [await projectOf('polled-a', repositoryId), await projectOf('polled-b', repositoryId)];
  await due(repositoryId);
  assert.equal(await workOnPolls(deps), 1);
  await connected.work();
  assert.deepEqual(await pushed(projects[0]!), [], 'nothing has moved');
  const main = commitTo(bare, { files: { a: '2' } });
  const topic = commitTo(bare, { branch: 'topic', files: { a: '3' } });
  assert.equal(await workOnPolls(deps), 0, 'it is not due yet');
  await due(repositoryId);
  const before = calls().length;
  // Two processes do not poll it both.
  const taken = await Promise.all([workOnPolls(deps), workOnPolls(deps)]);
  assert.deepEqual(taken.toSorted(), [0, 1]);
  assert.equal(calls().length, before + 1);
  await connected.work();
  for (const project of projects)
    assert.deepEqual((await pushed(project)).toSorted(), [`main ${main}`, `topic ${topic}`].toSorted());
  runGit(bare, ['update-ref', '-d', 'refs/heads/topic']);
  await due(repositoryId);
  await workOnPolls(deps);
  await connected.work();
  const rows = await connected.deployments(projects[0]!);
  assert.deepEqual(
    rows.filter(({ branch }) => branch === 'topic').map(({ status, reason }) => [status, reason]),
    [['canceled', 'branch_removed']],
  );
});

test('a remote that fails is polled less often, says why, and recovers; polls can be turned off', async () => {
  const { deps, sql } = connected.control;
  const bare = bareRepository('failing');
  const { deployKey: id } = await deployKey();
  const made = await connectRemote(bare, { deployKey: id, pollSeconds: 60 });
  const repositoryId: string = made.body.repository.id;
  await projectOf('failing', repositoryId);
  writeFileSync(path.join(folder, 'refuses'), '');
  const pauses: number[] = [];
  for (let round = 0; round < 12; round++) {
    await due(repositoryId);
    await workOnPolls(deps);
    const [row] = await sql<{ pause: number }[]>`
      SELECT extract(epoch FROM poll_due_at - checked_at)::int AS pause FROM control.repository WHERE id = ${repositoryId}`;
    pauses.push(row!.pause);
  }
  for (const [index, pause] of pauses.entries()) {
    const usual = Math.min(60 * 2 ** (index + 1), 6 * 3600);
    assert.ok(pause >= usual - 1 && pause <= usual * 1.25 + 1, `${index}: ${pause}`);
  }
  const failed = await call('GET', `/repositories/${repositoryId}/remote`);
  assert.match(failed.body.problem, /The repository cannot be read: .*Permission denied/);
  rmSync(path.join(folder, 'refuses'));
  await due(repositoryId);
  await workOnPolls(deps);
  assert.equal((await call('GET', `/repositories/${repositoryId}/remote`)).body.problem, null);
  for (const seconds of [59, 86_401, 1.5, '60']) {
    const refused = await call('PATCH', `/repositories/${repositoryId}/remote`, { pollSeconds: seconds });
    assert.equal(refused.status, 400, String(seconds));
  }
  const off = await call('PATCH', `/repositories/${repositoryId}/remote`, { pollSeconds: null });
  assert.deepEqual([off.status, off.body.pollSeconds, off.body.nextPollAt], [200, null, null]);
  await due(repositoryId);
  assert.equal(await workOnPolls(deps), 0);
});
