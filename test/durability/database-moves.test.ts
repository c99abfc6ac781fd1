// Operators move projects between machines with databases, and machines that drain move theirs.
import assert from 'node:assert/strict';
import { rm } from 'node:fs/promises';
import { after, before, test } from 'node:test';
import { run } from '#cli/main.ts';
import { serveApi } from '#control/process/servers.ts';
import { startControl, type TestControl } from '#test/setup/control.ts';
import { startHome, type TestHome } from '#test/setup/database-homes.ts';
import { query } from '#test/setup/databases.ts';
import { startS3Server, type S3Server } from '#test/setup/s3-server.ts';
import { until } from '#test/setup/until.ts';
import { recordingShell } from '#test/unit/cli/recording-shell.ts';

let control: TestControl;
let s3: S3Server;
let homes: TestHome[];
before(async () => {
  [control, s3] = await Promise.all([startControl(), startS3Server()]);
  await control.sql`UPDATE control.account SET is_admin = true WHERE id = ${control.owner.accountId}`;
  homes = [];
  for (const machine of ['m1', 'm2']) homes.push(await startHome({ machine, postgresUrl: control.databaseUrl, s3 }));
});
after(async () => {
  for (const home of homes) {
    await home.stop();
    await rm(home.directory, { recursive: true, force: true });
  }
  await s3.close();
  await control.close();
});

const place = { namespace: 'shop', resource: 'main' };

test('an operator moves the databases of a project; a machine that drains moves its own', async () => {
  const [m1, m2] = homes as [TestHome, TestHome];
  const server = await serveApi({ host: '127.0.0.1', port: 0, fetch: (request) => control.fetch(request) });
  const platform = async (...words: string[]): Promise<{ code: number; output: string; errors: string }> => {
    const shell = recordingShell('/', {
      PLATFORM_HOME: '/nowhere',
      PLATFORM_API_URL: `http://127.0.0.1:${server.port}`,
      PLATFORM_API_TOKEN: control.owner.token,
    });
    const code = await run(words, shell);
    return { code, output: shell.output.join('\n'), errors: shell.errors.join('\n') };
  };
  try {
    await query(m1.client, 'CREATE TABLE entry (text)', [], place);
    await query(m1.client, "INSERT INTO entry VALUES ('kept')", [], place);
    // Until then, the first service is alone.
    await until(async () => {
      const rows = await control.sql`SELECT FROM binding.database_service WHERE is_leased`;
      return rows.length === 2;
    });
    assert.deepEqual((await platform('db', 'move', 'shop', '--to', 'm2')).output, 'Moved the databases of shop to m2');
    assert.deepEqual(await query(m1.client, 'SELECT text FROM entry', [], place), [['kept']]);
    const unknown = await platform('db', 'move', 'shop', '--to', 'm9');
    assert.match(unknown.errors, /No machine m9 takes project databases: there are m1, m2/);
    assert.match((await platform('db', 'move', 'blog', '--to', 'm1')).errors, /./);
    const audited = await control.sql`
      SELECT subject_id, details->>'from' AS "from", details->>'machine' AS machine FROM control.audit_event
      WHERE action = 'database.move'`;
    assert.deepEqual(
      audited.map((row) => ({ ...row })),
      [{ subject_id: 'shop', from: 'm1', machine: 'm2' }],
    );
    await control.sql`UPDATE binding.database_service SET is_draining = true WHERE machine = 'm2'`;
    await until(async () => {
      const [row] = await control.sql`
        SELECT s.machine FROM binding.database_home h JOIN binding.database_service s ON s.id = h.service`;
      return row!['machine'] === 'm1';
    });
    assert.deepEqual(await query(m2.client, 'SELECT text FROM entry', [], place), [['kept']]);
  } finally {
    await server.close();
  }
});
