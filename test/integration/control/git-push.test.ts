// `git push` to the platform with a real Git client over real sockets. The test plays the builder: it writes the log
// and ends the deployment.
import assert from 'node:assert/strict';
import { execFile } from 'node:child_process';
import { randomBytes } from 'node:crypto';
import { mkdirSync, readdirSync, rmSync, writeFileSync } from 'node:fs';
import { readFile } from 'node:fs/promises';
import { connect } from 'node:net';
import path from 'node:path';
import { after, before, test } from 'node:test';
import { setTimeout } from 'node:timers/promises';
import { promisify } from 'node:util';
import { openGitPush } from '#control/git-push/git-push.ts';
import { repositoryFolder } from '#git/builtin-repositories.ts';
import { type TestControl } from '#test/setup/control.ts';
import { until } from '#test/setup/until.ts';
import { withinWindow } from '#test/setup/window.ts';
import { startGitPush, type TestGitPush } from '#test/setup/git-push.ts';

const run = promisify(execFile);
let pushes: TestGitPush;
let control: TestControl;
let folder: string;

before(async () => {
  pushes = await startGitPush();
  ({ control, folder } = pushes);
});
after(() => pushes.close());

const git = (...args: string[]): Promise<string> => pushes.git(...args);
const remote = (name: string, token: string): string => pushes.remote(name, token);
const buildNext = (status: string): Promise<string> => pushes.buildNext(status);

test('a push makes project, repository and deployment, and shows the log in the terminal', async () => {
  const built = buildNext('success');
  const said = await git('push', remote('shop', control.owner.token), 'main');
  const id = await built;
  assert.match(said, new RegExp(`remote: Deployment ${id} of main at [0-9a-f]{7}`));
  assert.match(said, /remote: \[build\] made of glass/);
  assert.match(said, /remote: Live at http:\/\/shop--main\.localhost:4001/);
  const [row] = await control.sql`
    SELECT d.branch, d.commit_message, d.author, d.source, d.target, d.created_by, r.source AS repository
    FROM control.deployment d JOIN control.project p ON p.id = d.project_id
    JOIN control.repository r ON r.id = p.repository_id WHERE d.id = ${id}`;
  assert.deepEqual(
    { ...row },
    {
      branch: 'main',
      commit_message: 'Say hello',
      author: 'Ada',
      source: 'push',
      target: 'production',
      created_by: control.owner.accountId,
      repository: 'builtin',
    },
  );
});

test('a failed deployment fails the push with exit code 1, and what was pushed stays', async () => {
  const built = buildNext('failure');
  const ended = await git('push', remote('shop', control.owner.token), 'main:feature/login').catch(
    (error: Error & { code: number; stderr: string }) => error,
  );
  const id = await built;
  assert.ok(typeof ended === 'object', ended as string);
  assert.equal(ended.code, 1);
  assert.match(ended.stderr, new RegExp(`remote: Deployment ${id} ended: failure`));
  assert.match(ended.stderr, /remote: The push was stored, but its deployment failed/);
  assert.match(ended.stderr, /\[new branch\] +main -> feature\/login/);
  assert.doesNotMatch(ended.stderr, /rejected/);
  const { stdout } = await run('git', ['ls-remote', remote('shop', control.owner.token)]);
  assert.match(stdout, /refs\/heads\/feature\/login/);
});

test('two concurrent first pushes of a project are both deployed', async () => {
  const branches = ['first', 'second'];
  const pushed = Promise.all(
    branches.map((branch) => git('push', remote('twins', control.owner.token), `main:${branch}`)),
  );
  const made = until(async () => {
    const rows = await control.sql`SELECT 1 FROM control.deployment WHERE branch = ANY(${branches})`;
    return rows.length === 2;
  });
  await Promise.race([made, pushed]);
  await control.sql`DELETE FROM control.job`;
  await control.sql`UPDATE control.deployment SET status = 'success' WHERE branch = ANY(${branches})`;
  for (const said of await pushed) assert.match(said, /remote: Live at/);
});

test('of two concurrent pushes of a new branch, the later one fails and names the other', async () => {
  const url = remote('shop', control.owner.token);
  const other = path.join(folder, 'pushed');
  // Git runs the hook after it has read the branches of the remote, before it sends anything.
  writeFileSync(
    path.join(folder, '.git/hooks/pre-push'),
    `#!/bin/sh\n[ -e '${other}' ] || { : > '${other}'; git push '${url}' "$(git commit-tree -m Other main^{tree})":refs/heads/raced; }\n`,
    { mode: 0o755 },
  );
  const built = buildNext('success');
  await git('config', 'user.name', 'Ada');
  await git('config', 'user.email', 'ada@example.com');
  try {
    await assert.rejects(git('push', url, 'main:raced'), (error: Error & { stderr: string }) => {
      assert.match(
        error.stderr,
        /remote: platform: raced was changed by another push meanwhile: fetch it, and push again/,
      );
      assert.doesNotMatch(error.stderr, /cannot lock ref/);
      return true;
    });
    await built;
  } finally {
    rmSync(path.join(folder, '.git/hooks/pre-push'));
    rmSync(other, { force: true });
  }
});

test('a push deploys where a restore left no hooks, or an upgrade those of another program', async () => {
  const [row] = await control.sql<{ id: string }[]>`SELECT id FROM control.repository WHERE full_name = 'shop'`;
  const hooks = path.join(repositoryFolder(control.deps.folder, row!.id), 'hooks');
  const pushAgain = async (): Promise<void> => {
    const built = buildNext('success');
    await git(
      '-c',
      'user.name=Ada',
      '-c',
      'user.email=ada@example.com',
      'commit',
      '-q',
      '--allow-empty',
      '-m',
      'Again',
    );
    const said = await git('push', remote('shop', control.owner.token), 'main');
    assert.match(said, /remote: Live at http:\/\/shop--main\.localhost:4001/);
    await built;
  };
  rmSync(hooks, { recursive: true });
  await pushAgain();
  writeFileSync(path.join(hooks, 'post-receive'), "#!/bin/sh\nexec '/gone/node' '/gone/post-receive.mjs'\n");
  await pushAgain();
  assert.deepEqual(readdirSync(hooks).toSorted(), ['post-receive', 'pre-receive', 'update']);
});

test('without a token, with a wrong one and as a stranger nothing is read or written', async () => {
  await assert.rejects(
    git('push', `http://127.0.0.1:${pushes.port}/git/shop.git`, 'main'),
    /could not read Username|401/,
  );
  await assert.rejects(git('push', remote('shop', 'plt_wrong'), 'main'), /Authentication failed/);
  const stranger = await control.account('eve', { [await control.organization('other')]: 'owner' });
  await assert.rejects(git('push', remote('shop', stranger.token), 'main'), /404|not found/);
  await assert.rejects(git('ls-remote', remote('shop', stranger.token)), /404|not found/);
  const viewer = await control.account('val', { [control.organizationId]: 'viewer' });
  await assert.rejects(git('push', remote('shop', viewer.token), 'main:other'), /403/);
});

test('refs that are no branches or tags, and names like options, are refused', async () => {
  await assert.rejects(
    git('push', remote('shop', control.owner.token), 'main:refs/for/main'),
    /only branches and tags/,
  );
  await assert.rejects(git('push', remote('shop', control.owner.token), 'main:refs/heads/-x'), /may not begin with -/);
});

test('paths that leave the repositories are no repositories', async () => {
  for (const name of ['..%2f..%2fetc', 'Shop', 'a--b', '%00'])
    assert.notEqual(
      (
        await fetch(`http://127.0.0.1:${pushes.port}/git/${name}.git/info/refs?service=git-upload-pack`, {
          headers: { authorization: `Bearer ${control.owner.token}` },
        })
      ).status,
      200,
    );
});

test('a push of more branches than are deployed says how many are left', async () => {
  const [row] = await control.sql<{ repository_id: string }[]>`
    SELECT repository_id FROM control.project WHERE name = 'shop'`;
  const repository = path.join(control.deps.folder, 'repositories', `${row!.repository_id}.git`);
  const names = Array.from({ length: 52 }, (_, index) => `many/${index}`);
  await git('push', '--quiet', repository, ...names.map((name) => `main:refs/tags/${name}`));
  for (const name of names) await git('--git-dir', repository, 'update-ref', `refs/heads/${name}`, `refs/tags/${name}`);
  const said = await git(
    'push',
    remote('shop', control.owner.token),
    '--delete',
    ...names.map((name) => `refs/heads/${name}`),
  );
  assert.match(said, /remote: A push is deployed up to 50 branches: 2 more are stored, and not deployed\./);
  assert.equal(said.match(/Branch many\/\d+ is removed/g)?.length, 50);
});

test('a commit whose message is megabytes is deployed', async () => {
  writeFileSync(path.join(folder, 'message'), 'x'.repeat(2_000_000));
  await git('checkout', '--quiet', '-b', 'long');
  await git('config', 'user.name', 'Ada');
  await git('config', 'user.email', 'ada@example.com');
  await git('commit', '--quiet', '--allow-empty', '-F', 'message');
  const built = buildNext('success');
  await git('push', remote('shop', control.owner.token), 'long');
  const [made] = await control.sql`SELECT commit_message FROM control.deployment WHERE id = ${await built}`;
  assert.match(made!.commit_message, /^x{490,500}/);
  await git('checkout', '--quiet', 'main');
});

test('a push whose client goes away leaves no program of Git behind', async () => {
  const [row] = await control.sql<{ repository_id: string }[]>`
    SELECT repository_id FROM control.project WHERE name = 'shop'`;
  const running = async (): Promise<boolean> => {
    for (const id of readdirSync('/proc').filter((name) => /^\d+$/.test(name)))
      if (
        await readFile(`/proc/${id}/environ`, 'utf8').then(
          (text) => text.includes(row!.repository_id),
          () => false,
        )
      )
        return true;
    return false;
  };
  const socket = connect(pushes.port, '127.0.0.1');
  const lines = ['POST /git/shop.git/git-receive-pack HTTP/1.1', 'host: x', 'content-length: 100000'];
  lines.push(`authorization: Bearer ${control.owner.token}`, 'content-type: application/x-git-receive-pack-request');
  socket.write(`${lines.join('\r\n')}\r\n\r\n0000`);
  const until = async (wanted: boolean): Promise<void> => {
    for (let round = 0; round < 100 && (await running()) !== wanted; round++) await setTimeout(50);
    assert.equal(await running(), wanted);
  };
  await until(true);
  socket.destroy();
  await until(false);
});

test('a branch that is deleted is removed here too; Git keeps that of production', async () => {
  assert.match(
    await git('push', remote('shop', control.owner.token), ':feature/login'),
    /remote: Branch feature\/login is removed/,
  );
  await assert.rejects(git('push', remote('shop', control.owner.token), ':main'), /deletion of the current branch/);
});

test('a name under which something is served already is not for another organization', async () => {
  const record = { version: 1, project: 'served', plan: 'free', vars: {}, domains: [], production: null };
  mkdirSync(path.join(control.deps.folder, 'routes'), { recursive: true });
  writeFileSync(
    path.join(control.deps.folder, 'routes', 'served.json'),
    JSON.stringify({ ...record, branches: {}, deployments: {} }),
  );
  await assert.rejects(git('push', remote('served', control.owner.token), 'main'), /409|taken/);
  const [made] = await control.sql`SELECT 1 FROM control.project WHERE name = 'served'`;
  assert.equal(made, undefined);
});

test('on a full organization, or a full disk, a push deletes and does nothing else; clones go on', async () => {
  const push = (...refs: string[]): Promise<string> => git('push', remote('shop', control.owner.token), ...refs);
  const refusal = (...refs: string[]): Promise<string> =>
    push(...refs).catch(({ stderr }: { stderr: string }) => stderr);
  const heads = async (): Promise<string> => {
    const { stdout } = await run('git', ['ls-remote', remote('shop', control.owner.token)], { cwd: folder });
    return [...stdout.matchAll(/refs\/\S+/g)].join(' ');
  };
  for (const branch of ['large', 'old']) {
    const built = buildNext('success');
    await push(`main:${branch}`);
    await built;
  }
  await push('main:refs/tags/v1');
  const before = await heads();
  assert.match(before, /refs\/heads\/large.*refs\/heads\/old.*refs\/tags\/v1/);
  await control.sql`UPDATE control.organization SET storage_full = true`;
  const full =
    /^remote: The organization stores 0 bytes, which is its share of the platform's disk: delete unused data/m;
  assert.match(await refusal('main:full'), full);
  // It has no commit of its own, and none of the two is done.
  assert.match(await refusal('main:full', ':old'), full);
  writeFileSync(path.join(folder, 'large.bin'), randomBytes(3_000_000));
  await git('add', '.');
  await git('-c', 'user.name=Ada', '-c', 'user.email=ada@example.com', 'commit', '--quiet', '-m', 'Grow');
  // So much goes in pieces, after a request that asks whether it may.
  assert.match(await refusal('main:full'), full);
  assert.equal(await heads(), before);
  assert.match(await push('--delete', 'large', 'v1'), /^remote: Branch large is removed/m);
  assert.doesNotMatch(await heads(), /large|v1/);
  await control.sql`UPDATE control.organization SET storage_full = false`;
  Object.assign(control.deps.storage, { diskFreeBytesMin: 2 ** 52 });
  assert.match(await refusal('main:full'), /^remote: The disk of the platform is nearly full: try again later/m);
  assert.match(await push('--delete', 'old'), /^remote: Branch old is removed/m);
  Object.assign(control.deps.storage, { diskFreeBytesMin: 0 });
});

test('a first push of a full organization is refused before anything is sent', async () => {
  await control.sql`UPDATE control.organization SET storage_full = true`;
  const said = await git('push', remote('another', control.owner.token), 'main').catch(
    ({ stderr }: { stderr: string }) => stderr,
  );
  assert.match(said, /^remote: The organization stores 0 bytes/m);
  await control.sql`UPDATE control.organization SET storage_full = false`;
});

test('a client that asks too often learns when to come back: with a token, and without one by address', async () => {
  const limited = await openGitPush({
    ...control.deps,
    limits: { ...control.deps.limits, requestsPerMinute: 2, anonymousRequestsPerMinute: 2 },
    clientAddress: () => address,
  });
  let address = '';
  const ask = async (token: string | null): Promise<Response> =>
    (await limited.fetch(
      new Request('http://x/git/shop.git/info/refs?service=git-upload-pack', {
        headers: token === null ? {} : { authorization: `Bearer ${token}` },
      }),
    ))!;
  try {
    const [known, guessed, nobody] = await withinWindow(60, async (round) => {
      const { token } = await control.account(`many${round}`, { [control.organizationId]: 'owner' });
      address = `192.0.2.${round}`;
      const thrice = async (given: string): Promise<Response[]> => [
        await ask(given),
        await ask(given),
        await ask(given),
      ];
      // Guesses are counted as those of nobody.
      const found = [await thrice(token), await thrice('plt_guess'), [await ask(null)]] as const;
      for (const answer of found.flat().filter(({ status }) => status !== 429)) await answer.body?.cancel();
      return found;
    });
    for (const [[one, two, refused], before] of [
      [known, 200],
      [guessed, 401],
    ] as const) {
      assert.deepEqual([one!.status, two!.status, refused!.status], [before, before, 429]);
      assert.match(await refused!.text(), /^Too many requests: try again in \d+ s\n$/);
      assert.match(refused!.headers.get('retry-after') ?? '', /^[1-9]\d*$/);
    }
    assert.equal(nobody[0].status, 429);
  } finally {
    await limited.close();
  }
});
