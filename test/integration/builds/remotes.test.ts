// Repositories of a Git host that is asked by HTTP: credentials, refusals, redirects.
import assert from 'node:assert/strict';
import { createServer, type IncomingMessage, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import { test, type TestContext } from 'node:test';
import { inProcess } from '#test/setup/builds-in-process.ts';
import { buildIn, openBuildPlace, possibleWays, WORKER } from '#test/setup/confined-builds.ts';
import { answerGit } from '#test/setup/git-repositories.ts';

const [way] = await possibleWays();
const confinement = way?.confinement ?? { kind: 'none', reason: null };
const AUTHORIZATION = `Basic ${Buffer.from('x-access-token:of-one-hour').toString('base64')}`;

/** A Git host of one folder. @returns its address. */
async function serve(
  t: TestContext,
  answer: (request: IncomingMessage, response: ServerResponse) => void | Promise<void>,
): Promise<string> {
  const server = createServer((request, response) => void answer(request, response));
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  t.after(() => server.closeAllConnections());
  t.after(() => server.close());
  return `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
}

test('a repository is fetched with headers that nothing of the build sees', async (t) => {
  const place = openBuildPlace(t);
  place.commit({
    ...WORKER,
    'platform.yaml': 'kind: worker\nbuild: env; ls -laR .. ; cat /proc/*/environ; grep -r of-one.hour .. ; true\n',
  });
  const seen: string[] = [];
  const address = await serve(t, async (request, response) => {
    seen.push(request.headers.authorization ?? 'none');
    const path = new URL(request.url!, 'http://x').pathname;
    if (request.headers.authorization !== AUTHORIZATION) response.writeHead(401).end();
    else await answerGit(place.folder, path, request, response);
  });
  const source = { url: `${address}/bare.git`, isPlainHttp: true, headers: { Authorization: AUTHORIZATION } };
  const { result, log, failure } = await buildIn(place, confinement, {
    source,
    commit: place.git('rev-parse', 'HEAD'),
  });
  assert.equal(failure, null, `${failure?.message}\n${log}`);
  assert.equal(result?.commit?.author, 'Ada');
  assert.ok(seen.length > 1 && seen.every((one) => one === AUTHORIZATION));
  assert.doesNotMatch(log, /of-one-hour|extraheader/i);
  assert.ok(!log.includes(AUTHORIZATION.slice(6)));
});

test('the commit of a pull request from a fork is found, which is on no branch of the repository', async (t) => {
  const place = openBuildPlace(t);
  place.commit(WORKER);
  const commit = place.commit({ ...WORKER, 'added.txt': 'by a stranger' });
  place.git('push', '-q', '--force', place.bare, 'HEAD:refs/pull/8/head', 'HEAD~:main');
  const address = await serve(t, (request, response) =>
    answerGit(place.folder, new URL(request.url!, 'http://x').pathname, request, response),
  );
  const source = { url: `${address}/bare.git`, isPlainHttp: true };
  const wishes = { source, branch: 'pull:8', isFork: true };
  for (const asked of [commit, null]) {
    const { result, log, failure } = await inProcess.build(place, { ...wishes, commit: asked });
    assert.equal(failure, null, `${failure?.message}\n${log}`);
    assert.equal(result?.commit?.sha, commit);
  }
  // Where the server gives out branches alone, the commit is looked for in the request's.
  place.git(`--git-dir=${place.bare}`, 'config', 'uploadpack.allowAnySHA1InWant', 'false');
  place.git('push', '-q', '--force', place.bare, 'HEAD~:refs/pull/9/head');
  const older = place.git('rev-parse', 'HEAD~');
  const { result } = await inProcess.build(place, { ...wishes, commit: older });
  assert.equal(result?.commit?.sha, older);
  const gone = await inProcess.build(place, { ...wishes, branch: 'pull:10', commit: null });
  assert.equal(gone.failure?.message, 'The repository has no branch pull:10, or no commit on it');
});

test('a token that is refused is told without the token', async (t) => {
  const place = inProcess.open(t);
  const address = await serve(t, (_request, response) => void response.writeHead(401).end());
  const source = { url: `${address}/bare.git`, isPlainHttp: true, headers: { Authorization: AUTHORIZATION } };
  const { failure, log } = await inProcess.build(place, { source });
  assert.equal(failure?.reason, 'repository_unavailable');
  assert.equal(failure.message, 'The repository cannot be read: the Git host refuses access to it');
  assert.ok(!log.includes(AUTHORIZATION.slice(6)));
});

test('a redirect is not followed', async (t) => {
  const place = inProcess.open(t);
  let isReached = false;
  const inside = await serve(t, (_request, response) => {
    isReached = true;
    response.end();
  });
  const address = await serve(
    t,
    (request, response) => void response.writeHead(302, { location: `${inside}${request.url}` }).end(),
  );
  const { failure } = await inProcess.build(place, { source: { url: `${address}/bare.git`, isPlainHttp: true } });
  assert.equal(failure?.reason, 'repository_unavailable');
  assert.equal(isReached, false);
});

test('plain http is refused where it is not allowed', async (t) => {
  const place = inProcess.open(t);
  let isReached = false;
  const address = await serve(t, (_request, response) => {
    isReached = true;
    response.end();
  });
  const { failure } = await inProcess.build(place, { source: { url: `${address}/bare.git` } });
  assert.equal(failure?.reason, 'clone_failed');
  assert.equal(isReached, false);
});

test('a Git host that answers nothing is waited for until the build is ended', async (t) => {
  const place = inProcess.open(t);
  const controller = new AbortController();
  const address = await serve(t, () => controller.abort(new Error('out of time')));
  const source = { url: `${address}/bare.git`, isPlainHttp: true };
  await assert.rejects(inProcess.build(place, { source, signal: controller.signal }), { message: 'out of time' });
  assert.deepEqual(place.leftOver(), []);
});
