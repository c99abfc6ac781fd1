// What was pushed is deployed, though the API process ends meanwhile or the deployment cannot be made at first.
import assert from 'node:assert/strict';
import { execFile, fork } from 'node:child_process';
import { randomUUID } from 'node:crypto';
import { once } from 'node:events';
import { existsSync, mkdtempSync, readFileSync, readdirSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { after, before, test } from 'node:test';
import { promisify } from 'node:util';
import { openGitPush } from '#control/git-push/git-push.ts';
import { ensureRepository } from '#control/repositories/repositories.ts';
import { nodeFlags } from '#core/node-flags.mjs';
import { type TestControl } from '#test/setup/control.ts';
import { startGitPush, type TestGitPush } from '#test/setup/git-push.ts';
import { until } from '#test/setup/until.ts';

const run = promisify(execFile);
let pushes: TestGitPush;
let control: TestControl;

before(async () => {
  pushes = await startGitPush();
  ({ control } = pushes);
  await pushes.pushShop();
});
after(() => pushes.close());

const git = (...args: string[]): Promise<string> => pushes.git(...args);
const remote = (name: string, token: string): string => pushes.remote(name, token);
const buildNext = (status: string): Promise<string> => pushes.buildNext(status);

test('what was pushed while no API process ran is deployed when one starts', async () => {
  await pushes.gitPush.close();
  const folderOfIt = control.deps.folder;
  const [row] = await control.sql<{ repository_id: string }[]>`
    SELECT repository_id FROM control.project WHERE name = 'shop'`;
  const said = await git('push', path.join(folderOfIt, 'repositories', `${row!.repository_id}.git`), 'main:later');
  assert.match(said, /remote: The platform is not running: it deploys the push at its next start/);
  const built = buildNext('success');
  pushes.gitPush = await openGitPush(control.deps);
  const id = await built;
  const [made] = await control.sql`SELECT branch, source, created_by FROM control.deployment WHERE id = ${id}`;
  assert.deepEqual({ ...made }, { branch: 'later', source: 'push', created_by: null });
});

test('a push that cannot be taken keeps no other back', async () => {
  await pushes.gitPush.close();
  const repositories = path.join(control.deps.folder, 'repositories');
  // Many, since folders are read in any order.
  for (let count = 0; count < 20; count++)
    writeFileSync(path.join(repositories, 'pushes', `${randomUUID()}.json`), '{"repository":');
  const [row] = await control.sql<{ repository_id: string }[]>`
    SELECT repository_id FROM control.project WHERE name = 'shop'`;
  await git('push', path.join(repositories, `${row!.repository_id}.git`), 'main:behind');
  const built = buildNext('success');
  pushes.gitPush = await openGitPush(control.deps);
  const [made] = await control.sql`SELECT branch FROM control.deployment WHERE id = ${await built}`;
  assert.equal(made!.branch, 'behind');
});

test('a push whose deployment cannot be made at first is deployed once it can be', async () => {
  await control.sql`ALTER TABLE control.deployment RENAME TO deployment_away`;
  const said = await git('push', remote('shop', control.owner.token), 'main:again').finally(
    () => control.sql`ALTER TABLE control.deployment_away RENAME TO deployment`,
  );
  assert.match(said, /remote: The deployment cannot be created at the moment: retrying/);
  const [made] = await control.sql`SELECT branch FROM control.deployment WHERE id = ${await buildNext('success')}`;
  assert.equal(made!.branch, 'again');
  const notes = path.join(control.deps.folder, 'repositories', 'pushes');
  // The note goes after the deployment is there.
  await until(async () =>
    readdirSync(notes).every((name) => {
      try {
        return !readFileSync(path.join(notes, name), 'utf8').includes('again');
      } catch {
        return true;
      }
    }),
  );
});

test('of a push that is tried again, only the branches are deployed that were not', async () => {
  await control.sql.unsafe(`
    CREATE FUNCTION control.refuse() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN RAISE 'not now'; END $$;
    CREATE TRIGGER refuse BEFORE INSERT ON control.deployment
      FOR EACH ROW WHEN (NEW.branch = 'two') EXECUTE FUNCTION control.refuse()`);
  const first = buildNext('success');
  await git('push', remote('shop', control.owner.token), 'main:one', 'main:two');
  await first;
  const second = buildNext('success');
  await control.sql.unsafe('DROP TRIGGER refuse ON control.deployment; DROP FUNCTION control.refuse()');
  await second;
  const made = await control.sql`
    SELECT branch FROM control.deployment WHERE branch IN ('one', 'two') ORDER BY created_at`;
  assert.deepEqual(
    made.map(({ branch }) => branch),
    ['one', 'two'],
  );
});

test('a push that moves its branch leaves a note, though the API process is killed before', async (t) => {
  const folder = mkdtempSync(path.join(tmpdir(), 'platform-killed-'));
  t.after(() => rmSync(folder, { recursive: true, force: true }));
  const data = path.join(folder, 'data');
  const repository = await ensureRepository(data, 'rep', 'main');
  writeFileSync(path.join(data, 'repositories', 'socket'), path.join(folder, 'gone.sock'));
  // Git runs the hook before it moves the branch; its parent is `git receive-pack`.
  const [at, go] = [path.join(folder, 'at'), path.join(folder, 'go')];
  writeFileSync(
    path.join(repository, 'hooks', 'update'),
    `#!/bin/sh\necho $PPID > '${at}.new'\nmv '${at}.new' '${at}'\nuntil [ -e '${go}' ]; do sleep 0.02; done\n`,
  );
  const clone = path.join(folder, 'clone');
  await run('git', ['init', '--quiet', '--initial-branch=main', clone]);
  const author = ['-c', 'user.name=Ada', '-c', 'user.email=ada@example.com'];
  await run('git', ['-C', clone, ...author, 'commit', '--quiet', '--allow-empty', '-m', 'Say hello']);
  const head = (await run('git', ['-C', clone, 'rev-parse', 'HEAD'])).stdout.trim();

  const api = fork(path.join(import.meta.dirname, '../../setup/push-server.ts'), [data, 'rep'], {
    execArgv: [...nodeFlags],
  });
  t.after(() => api.kill('SIGKILL'));
  const [port] = (await once(api, 'message')) as [number];
  let isEnded = false;
  const pushed = run('git', ['-C', clone, 'push', `http://127.0.0.1:${port}`, 'main']).finally(() => (isEnded = true));
  pushed.catch(() => {});
  await until(() => isEnded || existsSync(at));
  const receivePack = Number(readFileSync(at, 'utf8'));
  api.kill('SIGKILL');
  await assert.rejects(pushed);
  writeFileSync(go, '');
  await until(() => !existsSync(`/proc/${receivePack}`));

  const { stdout } = await run('git', ['-C', repository, 'rev-parse', 'main']);
  assert.equal(stdout.trim(), head);
  const notes = path.join(data, 'repositories', 'pushes');
  const names = existsSync(notes) ? readdirSync(notes) : [];
  assert.deepEqual(
    names.map((name) => JSON.parse(readFileSync(path.join(notes, name), 'utf8')) as unknown),
    [{ repository: 'rep', account: 'acc', refs: [{ before: '0'.repeat(40), after: head, name: 'refs/heads/main' }] }],
  );
});
