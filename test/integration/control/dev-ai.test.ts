// The AI gateway of an organization in `platform dev`: which organization is chosen, and when none is.
import assert from 'node:assert/strict';
import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { after, before, test } from 'node:test';
import { findOrganizationAi } from '#cli/dev/organization-ai.ts';
import { createApi } from '#control/api/app.ts';
import { hashOf } from '#core/ai-token.ts';
import { serveApi } from '#control/process/servers.ts';
import { newId } from '#control/records/ids.ts';
import { startControl, type TestControl, type TestAccount } from '#test/setup/control.ts';
import { recordingShell } from '#test/unit/cli/recording-shell.ts';

const home = mkdtempSync(path.join(tmpdir(), 'home-'));
let control: TestControl;
let server: Awaited<ReturnType<typeof serveApi>>;
let origin: string;
/** Whose tokens asked the gateway for its models, by organization. */
let asked: string[] = [];
let models: readonly object[] = [{ id: 'mock/echo' }];
let other: string;
let both: TestAccount;
let blog: string;

before(async () => {
  const api = createApi();
  server = await serveApi({
    port: 0,
    host: '127.0.0.1',
    async fetch(request) {
      if (new URL(request.url).pathname !== '/ai/models') return api.fetch(request, control.deps);
      const token = request.headers.get('authorization')!.slice('Bearer '.length);
      const rows = await control.sql<{ kind: string; organization_id: string; days: number }[]>`
        SELECT kind, organization_id, round(extract(epoch FROM expires_at - now()) / 86400)::int AS days
        FROM control.ai_token WHERE hash = ${hashOf(token)}`;
      asked.push(...rows.map(({ kind, organization_id: id, days }) => `${kind} ${id} ${days}`));
      return Response.json({ data: models });
    },
  });
  origin = `http://127.0.0.1:${server.port}`;
  const addresses = { api: origin, ui: origin, domain: 'localhost', protocol: 'http', port: null } as const;
  control = await startControl({ addresses });
  other = await control.organization('other');
  both = await control.account('grace', { [control.organizationId]: 'member', [other]: 'member' });
  blog = newId('project');
  await control.sql`INSERT INTO control.project (id, organization_id, name) VALUES (${blog}, ${other}, 'blog')`;
});
after(async () => {
  await server.close();
  await control.close();
  rmSync(home, { recursive: true });
});

/** What is found for a folder of this name. */
async function find(name: string, token: string | null, variables: Record<string, string> = {}) {
  asked = [];
  const folder = path.join(home, name);
  mkdirSync(folder, { recursive: true });
  writeFileSync(path.join(folder, 'platform.yaml'), `kind: worker\nname: ${name}\nai: true\n`);
  const user = token === null ? {} : { PLATFORM_API_TOKEN: token, PLATFORM_API_URL: origin };
  const shell = recordingShell(folder, { PLATFORM_HOME: home, ...user }, {});
  const found = await findOrganizationAi(shell, folder, { ...variables });
  return { found, errors: shell.errors.join('\n') };
}

test('the project that the folder is deployed as chooses the organization, whose token lives a week', async () => {
  const { found, errors } = await find('blog', both.token);
  assert.equal(found!.url, `${origin}/ai`);
  assert.match(found!.token, /^pk_ai_[a-z0-9]+_[\w-]{43}$/);
  assert.deepEqual([asked, errors], [[`dev ${other} 7`], '']);
});

test('a folder that is no project is of the only organization, or of the one that the variable chooses', async () => {
  assert.notEqual((await find('new', control.owner.token)).found, null);
  assert.deepEqual(asked, [`dev ${control.organizationId} 7`]);
  const unclear = await find('new', both.token);
  assert.equal(unclear.found, null);
  assert.match(unclear.errors, /several organizations: set PLATFORM_DEV_AI_PROJECT_ID=<project id> to choose/);
  assert.notEqual((await find('new', both.token, { PLATFORM_DEV_AI_PROJECT_ID: blog })).found, null);
  assert.deepEqual(asked, [`dev ${other} 7`]);
});

test('without a login nothing is asked, and a gateway without models is not used', async () => {
  assert.deepEqual(await find('blog', null), { found: null, errors: '' });
  models = [];
  assert.deepEqual(await find('blog', both.token), { found: null, errors: '' });
  models = [{ id: 'mock/echo' }];
});

test('what is wrong is said: at once where the variable names the project, else beside the mock provider', async () => {
  const wrong = await find('blog', 'plt_unknown');
  assert.equal(wrong.found, null);
  assert.match(wrong.errors, /the AI gateway of your organization is not used: /);
  await assert.rejects(find('new', both.token, { PLATFORM_DEV_AI_PROJECT_ID: 'prj_nothing' }), {
    message: /^The AI gateway of PLATFORM_DEV_AI_PROJECT_ID cannot be used: /,
  });
});

test('an account has at most ten such tokens in an organization', async () => {
  for (let n = 0; n < 11; n += 1) await control.call('POST', `/orgs/${other}/ai/dev-token`, undefined, both.token);
  const [row] = await control.sql<{ count: number }[]>`
    SELECT count(*)::int AS count FROM control.ai_token WHERE organization_id = ${other} AND kind = 'dev'`;
  assert.equal(row!.count, 10);
});
