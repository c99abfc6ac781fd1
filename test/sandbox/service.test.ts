// The process of the sandbox service over containers and Postgres: who it hears, and what it knows after its death.
import assert from 'node:assert/strict';
import { fork, type ChildProcess } from 'node:child_process';
import { once } from 'node:events';
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { after, before, describe, it } from 'node:test';
import { root } from '#cli/tasks/tools/processes.ts';
import { openPostgres, type Postgres } from '#postgres/connection.ts';
import { openSandboxRole } from '#postgres/sandbox-role.ts';
import { createTestDatabase } from '#test/setup/postgres.ts';
import { freePort } from '#test/setup/free-port.ts';
import { engineName, machineThings, socketPath } from '#test/setup/sandbox-containers.ts';
import { SANDBOX_IMAGE } from '#test/setup/sandbox-engine.ts';
import { eventually } from '#test/setup/whole-platform.ts';

const TOKEN = 'tokentokentokentokentokentokentoken';

describe(`the sandbox service over ${engineName}`, () => {
  const folder = mkdtempSync(path.join(tmpdir(), 'sandbox-disks-'));
  let database: Awaited<ReturnType<typeof createTestDatabase>> | undefined;
  let owner: Postgres | undefined;
  let things: Awaited<ReturnType<typeof machineThings>>;
  let url = '';
  let service: ChildProcess | undefined;
  let port = 0;

  async function start(): Promise<void> {
    service = fork(path.join(root, 'sandbox/main.ts'), {
      env: {
        PATH: process.env['PATH'],
        FS_PATH: folder,
        SANDBOX_AUTH_TOKEN: TOKEN,
        SANDBOX_DATABASE_URL: url,
        SANDBOX_DEFAULT_IMAGE: SANDBOX_IMAGE,
        SANDBOX_PORT: String(port),
        SANDBOX_DISK_MB: '64',
        SANDBOX_SWEEP_MS: '200',
        DOCKER_HOST: `unix://${socketPath}`,
        LOG_FORMAT: 'json',
      },
      execArgv: ['--disable-warning=ExperimentalWarning'],
      stdio: ['ignore', 'ignore', 'inherit', 'ipc'],
    });
    const [message] = (await once(service, 'message')) as [{ type: string }];
    assert.equal(message.type, 'ready');
  }

  async function call(project: string, id: string, operation: string, body: object = {}, token = TOKEN) {
    const answer = await fetch(`http://127.0.0.1:${port}/v1/projects/${project}/sandboxes/work/${id}/${operation}`, {
      method: 'POST',
      headers: { authorization: `Bearer ${token}`, 'content-type': 'application/json' },
      body: JSON.stringify(body),
    });
    return { status: answer.status, body: (await answer.json()) as Record<string, unknown> };
  }
  const exec = async (project: string, id: string, command: string): Promise<unknown> => {
    const { status, body } = await call(project, id, 'exec', { command });
    assert.equal(status, 200, JSON.stringify(body));
    return body['stdout'];
  };

  before(async () => {
    things = await machineThings();
    database = await createTestDatabase();
    owner = openPostgres({ url: database.url, name: 'test', connectionsMax: 1 });
    url = await openSandboxRole(owner, database.url);
    port = await freePort();
    await start();
  });
  after(async () => {
    // Each where it was begun.
    if (service?.exitCode === null) {
      service.kill('SIGTERM');
      await once(service, 'exit');
    }
    await owner?.close();
    await database?.close();
    rmSync(folder, { recursive: true });
  });

  it('runs commands for whoever has the token, and for nobody else', async () => {
    assert.equal(await exec('shop', 'a', 'echo $((6 * 7)) > kept; cat kept'), '42\n');
    assert.equal((await call('shop', 'a', 'exec', { command: 'true' }, 'x'.repeat(40))).status, 401);
    assert.equal((await fetch(`http://127.0.0.1:${port}/healthz`)).status, 200);
  });

  it('keeps projects apart', async () => {
    assert.equal(await exec('blog', 'a', 'cat kept || echo nothing'), 'nothing\n');
  });

  it('that is killed knows its sandboxes when it is back', async () => {
    service!.kill('SIGKILL');
    await once(service!, 'exit');
    // Its name and port are who it is.
    await start();
    assert.equal(await exec('shop', 'a', 'cat kept'), '42\n');
  });

  it('destroys the sandboxes of a project that is deleted, and those that it does not know', async () => {
    await owner!.all(`INSERT INTO control.organization (id, name, slug) VALUES ('o', 'o', 'o')`);
    await owner!.all(
      `INSERT INTO control.project (id, organization_id, name, deleted_at) VALUES ('p', 'o', 'shop', now())`,
    );
    await owner!.all(`DELETE FROM sandbox.sandbox WHERE project = 'blog'`);
    await eventually('nothing is left', async () => {
      assert.deepEqual(await owner!.all('SELECT key FROM sandbox.sandbox'), []);
      assert.deepEqual(await machineThings(), things);
      return true;
    });
  });
});
