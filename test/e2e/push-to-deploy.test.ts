// `npm start`, then what a new user does: connects a repository of a Git host, pushes, follows the log, opens the URL,
// opens a pull request, promotes, rolls back, deploys from a folder and pushes to the platform itself; under a steady
// load of which no request may fail. Prints the times. The Git host is test/setup/git-host.ts.
import assert from 'node:assert/strict';
import { mkdirSync, writeFileSync } from 'node:fs';
import path from 'node:path';
import { after, before, test } from 'node:test';
import { startGitHost, type TestGitHost } from '#test/setup/git-host.ts';
import type { HostedRepository } from '#test/setup/git-host-state.ts';
import { pullRequestBody, signDelivery } from '#test/setup/git-host-payloads.ts';
import { startSteadyLoad } from '#test/setup/steady-load.ts';
import { eventually, startWholePlatform, type Json, type WholePlatform } from '#test/setup/whole-platform.ts';

const PER_SECOND = Number(process.env['PUSH_LOAD'] ?? 500);

let host: TestGitHost;
let repository: HostedRepository;
let platform: WholePlatform;
let person = '';
/** A clone of the repository on the Git host. */
let work = '';
let organizationId = '';
let projectId = '';
const times: [string, number][] = [];

const worker = (text: string): string => `export default { fetch: () => new Response(${JSON.stringify(text)}) };\n`;
const filesOf = (text: string): Record<string, string> => ({
  'platform.yaml': 'kind: worker\n',
  'src/index.ts': worker(text),
});

const deploymentOf = (commit: string): Promise<Json> =>
  eventually(`A deployment of ${commit}`, async () => {
    const { items } = await platform.call('GET', `/deployments?projectId=${projectId}`);
    return items.find((one: Json) => one.commitSha === commit) ?? null;
  });

const succeeded = async (id: string): Promise<Json> => {
  const deployment = await platform.ended(id);
  if (deployment.status === 'success') return deployment;
  const { items: lines } = await platform.call('GET', `/deployments/${id}/logs`);
  assert.fail(`${deployment.errorMessage}\n${lines.map((line: Json) => line.text).join('\n')}`);
};

async function timed<Result>(what: string, work: () => Promise<Result>): Promise<Result> {
  const began = performance.now();
  const result = await work();
  times.push([what, performance.now() - began]);
  return result;
}

/** Signs in at the Git host, as a browser goes from page to page. @returns an API token of the session. */
async function signIn(): Promise<void> {
  host.state.signedIn = 'ada';
  const cookies = new Map<string, string>();
  let at = `http://localhost:${platform.ports.ui}/api/auth/sign-in/git-host?redirect=/`;
  for (let step = 0; step < 8; step++) {
    const answer = await fetch(at, {
      redirect: 'manual',
      headers: { cookie: [...cookies].map(([name, value]) => `${name}=${value}`).join('; ') },
    });
    for (const line of answer.headers.getSetCookie()) {
      const [, name, value] = /^([^=]+)=([^;]*)/.exec(line)!;
      cookies.set(name!, value!);
    }
    const next = answer.headers.get('location');
    if (next === null) {
      assert.fail(`Sign-in ended at ${at}: ${answer.status} ${await answer.text()}`);
    }
    at = new URL(next, at).href;
    if (new URL(at).pathname === '/') break;
  }
  const cookie = [...cookies].map(([name, value]) => `${name}=${value}`).join('; ');
  const origin = `http://localhost:${platform.ports.ui}`;
  const answer = await fetch(`${origin}/api/tokens`, {
    method: 'POST',
    headers: { cookie, origin, 'content-type': 'application/json' },
    body: JSON.stringify({ name: 'script', scope: 'admin' }),
  });
  const text = await answer.text();
  assert.ok(answer.ok, `A token from the session: ${answer.status} ${text}`);
  person = JSON.parse(text).token;
}

before(async () => {
  host = await startGitHost();
  platform = await timed('npm start, first time', () => startWholePlatform(host.variables));
  host.state.webhookUrl = `http://127.0.0.1:${platform.ports.api}/webhooks/git-host`;
});

after(async () => {
  await platform.close();
  await host.close();
  for (const [what, ms] of times) console.log(`${what.padEnd(46)} ${(ms / 1000).toFixed(2)} s`);
});

test('the first token opens the API, and a person signs in at the Git host and connects a repository', async () => {
  assert.match(platform.token, /^plt_/);
  const { organizations } = await platform.call('GET', '/user');
  organizationId = organizations[0].id;
  await platform.call('POST', `/orgs/${organizationId}/invitations`, { login: 'ada', role: 'admin' });
  const installation = host.installation('acme', ['ada']);
  repository = host.repository('acme/shop', installation);
  host.commit(repository, { files: filesOf('first') });
  work = path.join(platform.folder, 'work');
  const remote = `${host.url}/acme/shop.git`.replace('://', `://ada:${host.userToken('ada')}@`);
  await platform.git(platform.folder, 'clone', '-q', remote, work);
  await signIn();
  ({ id: projectId } = await platform.call('POST', '/projects', { name: 'shop', organizationId }, person));
  const connected = await platform.call(
    'POST',
    '/repositories',
    { source: 'git-host', organizationId, installationId: String(installation.id), hostId: String(repository.id) },
    person,
  );
  const { deploymentId } = await platform.call(
    'POST',
    `/projects/${projectId}/repository`,
    { repositoryId: connected.repository.id, deploy: true },
    person,
  );
  await timed('connect -> live, the builder started', () => succeeded(deploymentId));
  assert.equal((await platform.open('shop')).text, 'first');
});

test('pushes, pull requests, promote and rollback, and no request fails meanwhile', async (t) => {
  const load = startSteadyLoad({ port: platform.ports.handler, host: 'shop.localhost', perSecond: PER_SECOND });
  t.after(() => load.stop());
  const push = async (branch: string, text: string): Promise<string> => {
    await platform.git(work, 'checkout', '-q', '-B', branch);
    writeFileSync(path.join(work, 'src/index.ts'), worker(text));
    await platform.git(work, 'commit', '-q', '-a', '-m', text);
    await platform.git(work, 'push', '-q', 'origin', branch);
    return (await platform.git(work, 'rev-parse', 'HEAD')).stdout.trim();
  };
  const production = await timed('push -> live', async () =>
    succeeded((await deploymentOf(await push('main', 'second'))).id),
  );
  times.push(['  of it the build alone', production.buildDurationMs]);
  assert.equal((await platform.open('shop')).text, 'second');
  const { items: lines } = await platform.call('GET', `/deployments/${production.id}/logs`);
  assert.ok(lines.length > 3, JSON.stringify(lines));

  const head = await push('feature', 'third');
  const preview = await succeeded((await deploymentOf(head)).id);
  const seen = await platform.open('shop--feature');
  assert.deepEqual([seen.status, seen.text, seen.headers['x-robots-tag']], [200, 'third', 'noindex']);
  const opened = pullRequestBody(repository, { action: 'opened', number: 7, branch: 'feature', sha: head });
  const delivery = signDelivery(host.webhookSecret, 'pull_request', opened);
  assert.ok((await fetch(host.state.webhookUrl!, { method: 'POST', ...delivery })).ok);
  await eventually('A comment on the pull request', async () => repository.comments.length === 1);
  assert.match(repository.comments[0]!.body, /shop--feature\.localhost/);

  await timed('promote', () => platform.call('POST', `/deployments/${preview.id}/promote`, {}));
  assert.equal((await platform.open('shop')).text, 'third');
  await timed('rollback', () => platform.call('POST', `/projects/${projectId}/rollback`, {}));
  assert.equal((await platform.open('shop')).text, 'second');

  const source = path.join(platform.folder, 'folder');
  mkdirSync(path.join(source, 'src'), { recursive: true });
  for (const [file, text] of Object.entries({ ...filesOf('fourth'), 'platform.yaml': 'name: shop\nkind: worker\n' }))
    writeFileSync(path.join(source, file), text);
  const said = await timed('platform deploy -> live', () => platform.cli(source, 'deploy', '--prod', '--json'));
  assert.match(said.stdout, /"production":true/);
  assert.equal((await platform.open('shop')).text, 'fourth');

  await load.stop();
  console.log(`${load.sent} requests sent at ${PER_SECOND}/s, ${load.failures.length} failed`);
  assert.deepEqual(load.failures.slice(0, 5), []);
  assert.deepEqual(load.texts, ['first', 'second', 'third', 'fourth']);
});

test('git push to the platform itself shows the log in the terminal', async () => {
  const clone = path.join(platform.folder, 'clone');
  mkdirSync(path.join(clone, 'src'), { recursive: true });
  for (const [file, text] of Object.entries(filesOf('pushed'))) writeFileSync(path.join(clone, file), text);
  await platform.git(clone, 'init', '-q', '-b', 'main');
  await platform.git(clone, 'add', '.');
  await platform.git(clone, 'commit', '-q', '-m', 'Begin');
  const bare = path.join(platform.folder, 'bare.git');
  await platform.git(platform.folder, 'init', '-q', '--bare', bare);
  await timed('git push to a plain bare repository', () => platform.git(clone, 'push', '-q', bare, 'main'));
  const { stderr } = await timed('git push platform main -> live', () =>
    platform.git(clone, 'push', `http://x:${platform.token}@127.0.0.1:${platform.ports.api}/git/pushed.git`, 'main'),
  );
  assert.match(stderr, /remote: Live at http:\/\/pushed\.localhost/);
  assert.equal((await platform.open('pushed')).text, 'pushed');
});
