// Untrusted text in the output of the command line: logs of workers and builds, commit messages, names. It reaches the
// terminal as text only, and none of its lines looks like one of the program's.
/* oxlint-disable no-control-regex -- control characters are what it is about */
import assert from 'node:assert/strict';
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { after, before, test } from 'node:test';
import { run } from '#cli/main.ts';
import { createApi } from '#control/api/app.ts';
import { serveApi } from '#control/process/servers.ts';
import { newDeploymentId, newId } from '#control/records/ids.ts';
import { createTelemetryStore } from '#control/telemetry/store.ts';
import { startControl, type TestControl } from '#test/setup/control.ts';
import { recordingShell } from '#test/unit/cli/recording-shell.ts';

/** Clears the screen, colours text, reverses a line, and imitates the program. */
const hostile =
  'text\u001b[2J\u001b]0;title\u0007\u009b2J\u202e\u001b[32m\r\nFORGED\rFORGED\u2028FORGED\nFORGED 12:00:00 Deployed';

const home = mkdtempSync(path.join(tmpdir(), 'home-'));
let control: TestControl;
let server: Awaited<ReturnType<typeof serveApi>>;
let deployment: string;
before(async () => {
  control = await startControl();
  const api = createApi();
  server = await serveApi({ port: 0, host: '127.0.0.1', fetch: (request) => api.fetch(request, control.deps) });
  await fill(control);
});
after(async () => {
  await server.close();
  await control.close();
  rmSync(home, { recursive: true });
});

/** Puts the text into every record that has one. */
async function fill({ sql, organizationId: org, owner }: TestControl): Promise<void> {
  const project = newId('project');
  deployment = newDeploymentId();
  await sql`INSERT INTO control.project (id, organization_id, name, description) VALUES (${project}, ${org}, 'shop', ${hostile})`;
  await sql`
    INSERT INTO control.deployment (id, project_id, organization_id, status, reason, error_message, target, branch,
      commit_sha, commit_message, author, source)
    VALUES (${deployment}, ${project}, ${org}, 'failure', ${hostile}, ${hostile}, 'preview', ${hostile},
      ${'0'.repeat(40)}, ${hostile}, ${hostile}, 'push')`;
  await sql`
    INSERT INTO control.build_log (deployment_id, seq, step, level, text)
    VALUES (${deployment}, 1, ${hostile}, 'error', ${hostile})`;
  await sql`UPDATE control.organization SET name = ${hostile} WHERE id = ${org}`;
  await sql`UPDATE control.account SET login = ${hostile} WHERE id = ${owner.accountId}`;
  await sql`UPDATE control.token SET name = ${hostile}`;
  const target = { kind: 'http', url: 'https://logs.example.com/', format: 'ndjson', gzip: false, headers: [] };
  await sql`
    INSERT INTO control.log_drain (id, project_id, name, kind, target, secret, cursor, error, failures)
    VALUES (${newId('drain')}, ${project}, ${hostile}, 'http', ${sql.json(target)}, ${Buffer.alloc(1)}, 0, ${hostile}, 1)`;
  await sql`
    INSERT INTO control.collector (project_id, url, headers, header_names, is_private, error, error_at)
    VALUES (${project}, 'https://otel.example.com/', ${Buffer.alloc(1)}, '{}', false, ${hostile}, now())`;
  const line = { record: 'line', project: 'shop', deployment, at: Date.now(), level: 'info', text: hostile };
  const records = JSON.stringify({ ...line, kind: 'http', route: '/', invocation: 'i1', traceId: null });
  await createTelemetryStore({ sql }).keep({ id: newId('upload'), records, lost: 0 });
}

const commands: readonly (readonly string[])[] = [
  ['logs'],
  ['logs', '--build', '--deployment', 'ID'],
  ['deployments', 'logs', 'ID'],
  ['deployments'],
  ['deployments', 'view', 'ID'],
  ['projects'],
  ['projects', 'settings'],
  ['org'],
  ['org', 'members'],
  ['tokens'],
  ['drains'],
  ['collector'],
  ['whoami'],
  ['promote', 'ID'],
  ['env'],
  ['domains'],
];

for (const isTerminal of [true, false])
  test(`${isTerminal ? 'on a terminal' : 'to another program'} untrusted text is shown as text only`, async () => {
    const broken: string[] = [];
    let shown = 0;
    for (const words of commands) {
      const env = { PLATFORM_HOME: home, PLATFORM_API_URL: `http://127.0.0.1:${server.port}` };
      const shell = recordingShell(
        home,
        { ...env, PLATFORM_API_TOKEN: control.owner.token, PLATFORM_PROJECT: 'shop' },
        { isTerminal },
      );
      const called = words.map((word) => (word === 'ID' ? deployment : word));
      const named =
        /^(?:org|tokens|whoami|projects)$/.test(words[0]!) && words[1] !== 'settings' ? [] : ['--name', 'shop'];
      await run([...called, ...named], shell);
      const text = [...shell.output, ...shell.errors].join('\n');
      if (text.includes('FORGED')) shown++;
      const plainText = text.replace(/\u001b\[[\d;:]*m/g, '');
      const sign = /[\u0000-\u0008\u000b-\u001f\u007f-\u009f\u202e\u2028]/.exec(plainText);
      if (sign !== null) broken.push(`${words.join(' ')}: ${JSON.stringify(sign[0])} in ${JSON.stringify(text)}`);
      if (/^FORGED/m.test(plainText)) broken.push(`${words.join(' ')}: a forged line: ${JSON.stringify(text)}`);
    }
    assert.deepEqual(broken, []);
    assert.ok(shown >= 9, `the text was shown by ${shown} commands alone`);
  });

test('a worker’s lines in `platform logs` have no colours, and are marked after the first', async () => {
  const env = {
    PLATFORM_HOME: home,
    PLATFORM_API_URL: `http://127.0.0.1:${server.port}`,
    PLATFORM_API_TOKEN: control.owner.token,
  };
  const shell = recordingShell(home, env, { isTerminal: true });
  assert.equal(await run(['logs', '--name', 'shop'], shell), 0);
  assert.match(
    shell.output.join('\n'),
    /^\d{4}-\d\d-\d\d \d\d:\d\d:\d\d\.\d{3} d\w{12} info {2}text\n {2}\| FORGEDFORGEDFORGED\n {2}\| FORGED 12:00:00 Deployed$/,
  );
  const json = recordingShell(home, env, { isTerminal: true });
  await run(['logs', '--name', 'shop', '--json'], json);
  assert.equal((JSON.parse(json.output[0]!) as { text: string }).text, hostile);
});
