// `git push` to a platform with a real Git client over real sockets. The test plays the builder: it writes the log and
// ends the deployment.
import { execFile } from 'node:child_process';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { promisify } from 'node:util';
import { openGitPush, type GitPush } from '#control/git-push/git-push.ts';
import { serveApi } from '#control/process/servers.ts';
import { startControl, type TestControl } from './control.ts';
import { until } from './until.ts';

const run = promisify(execFile);

/** A control plane that takes pushes, and a clone with one commit on `main`. */
export interface TestGitPush {
  readonly control: TestControl;
  /** Replaced by tests that restart it. */
  gitPush: GitPush;
  readonly port: number;
  /** The clone. */
  readonly folder: string;
  /** Runs Git in the clone. @returns standard error, where Git shows messages of the remote. */
  git(...args: string[]): Promise<string>;
  remote(name: string, token: string): string;
  /** Pushes `main` to the project `shop`, and ends its deployment. */
  pushShop(): Promise<void>;
  /** Ends the next deployment, as builder and release do. @returns its id. */
  buildNext(status: string): Promise<string>;
  close(): Promise<void>;
}

export async function startGitPush(): Promise<TestGitPush> {
  const control = await startControl();
  const folder = mkdtempSync(path.join(tmpdir(), 'platform-clone-'));
  const server = await serveApi({
    port: 0,
    host: '127.0.0.1',
    fetch: (request) => started.gitPush.fetch(request) ?? new Response('none of Git', { status: 404 }),
  });
  const started: TestGitPush = {
    control,
    gitPush: await openGitPush(control.deps),
    port: server.port,
    folder,
    async git(...args) {
      const env = {
        ...process.env,
        GIT_TERMINAL_PROMPT: '0',
        GIT_CONFIG_GLOBAL: '/dev/null',
        GIT_CONFIG_NOSYSTEM: '1',
      };
      const { stderr } = await run('git', args, { cwd: folder, env });
      return stderr;
    },
    remote: (name, token) => `http://x:${token}@127.0.0.1:${server.port}/git/${name}.git`,
    async pushShop() {
      const built = started.buildNext('success');
      await started.git('push', started.remote('shop', control.owner.token), 'main');
      await built;
    },
    async buildNext(status) {
      // No LISTEN: the job may be there before it takes effect.
      const { deployment_id: id } = await until(async () => {
        const jobs = await control.sql<{ deployment_id: string }[]>`DELETE FROM control.job RETURNING deployment_id`;
        return jobs[0];
      });
      await control.sql`INSERT INTO control.build_log (deployment_id, seq, step, text)
        VALUES (${id}, 1, 'build', 'made of glass')`;
      await control.sql`UPDATE control.deployment SET status = ${status} WHERE id = ${id}`;
      await control.sql`SELECT pg_notify('control_deployment', ${id})`;
      return id;
    },
    async close() {
      await server.close();
      await started.gitPush.close();
      await control.close();
      rmSync(folder, { recursive: true, force: true });
    },
  };
  await started.git('init', '--quiet', '--initial-branch=main');
  writeFileSync(path.join(folder, 'index.html'), '<h1>hello</h1>');
  await started.git('add', '.');
  const author = ['-c', 'user.name=Ada', '-c', 'user.email=ada@example.com'];
  await started.git(...author, 'commit', '--quiet', '-m', 'Say hello');
  return started;
}
