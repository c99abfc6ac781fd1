// Commands for the settings of a project, over a control plane on real sockets, without a deployment: domains, drains,
// calls of the API, links of folders and the doctor.
import assert from 'node:assert/strict';
import { existsSync, mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { after, before, test } from 'node:test';
import { run } from '#cli/main.ts';
import { createApi } from '#control/api/app.ts';
import { serveApi } from '#control/process/servers.ts';
import { startControl, type TestControl } from '#test/setup/control.ts';
import { recordingShell, type RecordingShell } from '#test/unit/cli/recording-shell.ts';

const home = mkdtempSync(path.join(tmpdir(), 'home-'));
const folder = mkdtempSync(path.join(tmpdir(), 'project-'));
let control: TestControl;
let server: Awaited<ReturnType<typeof serveApi>>;
let origin: string;
let environment: Record<string, string>;

before(async () => {
  control = await startControl();
  const api = createApi();
  server = await serveApi({ port: 0, host: '127.0.0.1', fetch: (request) => api.fetch(request, control.deps) });
  origin = `http://127.0.0.1:${server.port}`;
  environment = { PLATFORM_HOME: home, PLATFORM_API_URL: origin, PLATFORM_API_TOKEN: control.owner.token };
  writeFileSync(path.join(folder, 'platform.yaml'), 'kind: worker\nname: shop\n');
  await ok('projects', 'create', 'shop');
});
after(async () => {
  await server.close();
  await control.close();
  for (const one of [home, folder]) rmSync(one, { recursive: true });
});

async function call(
  words: readonly string[],
  more: Record<string, string> = {},
): Promise<RecordingShell & { code: number }> {
  const shell = recordingShell(folder, { ...environment, ...more });
  return Object.assign(shell, { code: await run(words, shell) });
}

async function ok(...words: string[]): Promise<string[]> {
  const { code, output, errors } = await call(words);
  assert.equal(code, 0, [...output, ...errors].join('\n'));
  return output;
}

test('domains say which DNS record they take', async () => {
  const { output } = await call(['domains', 'add', 'www.example.com']);
  assert.equal(output[0], 'Added www.example.com to shop: pending_verification');
  assert.match(output[1]!, /^ {2}create this DNS record: TXT \S+ \S+$/);
  assert.match((await ok('domains'))[0]!, /^www\.example\.com\tpending_verification\tproduction\t/);
  assert.deepEqual(await ok('domains', 'rm', 'WWW.example.com.', '-y'), ['Removed www.example.com']);
  await ok('domains', 'add', 'straße.example');
  assert.deepEqual(await ok('domains', 'rm', 'Straße.example', '-y'), ['Removed xn--strae-oqa.example']);
});

test('log drains are added, listed, tried and removed', async () => {
  const add = [
    'drains',
    'add',
    '--url',
    'https://localhost/in',
    '--header',
    'authorization: Bearer t0p',
    '--level',
    'warn',
  ];
  assert.deepEqual((await ok(...add))[0], 'Added localhost: logs of shop go to https://localhost/in');
  const [row] = await ok('drains');
  assert.match(row!, /^localhost\ton\thttps:\/\/localhost\/in\twarn\t-\t-\tdrn_/);
  const tested = await call(['drains', 'test', 'localhost']);
  assert.deepEqual(
    [tested.code, tested.errors[0]!.split('\n')[0]],
    [1, 'error The test of localhost failed: The URL must not lead to a private address'],
  );
  assert.deepEqual(await ok('drains', 'rm', 'localhost', '-y'), ['Removed localhost']);
  const bucket = ['drains', 'add', '--bucket', 'logs', '--endpoint', 'https://s3.example'];
  const unset = await call(bucket);
  assert.deepEqual([unset.code, unset.errors[0]!.split('\n')[0]], [2, 'error The keys of the bucket are missing']);
  const keys = { PLATFORM_DRAIN_ACCESS_KEY_ID: 'AK', PLATFORM_DRAIN_SECRET_ACCESS_KEY: 'SK' };
  assert.equal((await call(bucket, keys)).output[0], 'Added logs: logs of shop go to s3://logs/');
});

test('platform api calls any path, lists the operations, and completes their paths', async () => {
  const [orgs] = await ok('api', '/orgs');
  assert.equal((JSON.parse(orgs!) as { items: { slug: string }[] }).items[0]!.slug, 'acme');
  const body = JSON.stringify({ name: 'made', organizationId: control.organizationId });
  assert.equal(
    (JSON.parse((await ok('api', 'POST', '/projects', '--body', body))[0]!) as { name: string }).name,
    'made',
  );
  assert.equal((await ok('api', 'get', '/orgs', '--query', 'limit=1', '-i'))[0], 'HTTP 200');
  const listed = await ok('api');
  assert.ok(listed.some((line) => line.startsWith('GET\t/deployments/{id}\t')));
  assert.ok((await ok('completion', 'paths')).join('\n').includes('/deployments/{id}/logs'));
  const missing = await call(['api', '/orgz']);
  assert.deepEqual([missing.code, missing.errors[0]], [2, 'error The API has no GET /orgz\nDid you mean /orgs?']);
  assert.equal((await call(['api', 'FETCH', '/orgs'])).errors[0]!.split('\n')[0], 'error Unknown method "FETCH"');
  assert.equal((await call(['api', '/orgs', '--body', '{'])).code, 2);
  assert.equal((await ok('api', 'project', 'list')).length, 2);
});

test('link finds the project by its name, and a token does not go to an address that only a file names', async () => {
  const other = path.join(folder, 'elsewhere');
  mkdirSync(path.join(other, '.git'), { recursive: true });
  const shell = recordingShell(other, environment);
  assert.equal(await run(['link', 'shop'], shell), 0, shell.errors.join('\n'));
  assert.equal(shell.output[0], `Linked this folder to shop of acme on ${origin}`);
  assert.doesNotMatch(readFileSync(path.join(other, '.platform/project.json'), 'utf8'), /plt_/);
  const hidden = recordingShell(other, { PLATFORM_HOME: home, PLATFORM_API_TOKEN: 'plt_secret' });
  assert.equal(await run(['deployments'], hidden), 1);
  assert.match(
    hidden.errors[0]!,
    /is linked to http:\/\/127\.0\.0\.1:\d+, but PLATFORM_API_TOKEN may be for another platform/,
  );
  assert.equal(await run(['unlink'], hidden), 0);
  assert.equal(existsSync(path.join(other, '.platform/project.json')), false);
});

test('doctor says of each thing whether it is well, and fails where something is not', async () => {
  const { code, output } = await call(['doctor']);
  const lines = output.filter((line) => /^(?:ok|warn|fail) /.test(line));
  assert.ok(
    lines.some((line) => line.startsWith('ok    node         Node 24.')),
    output.join('\n'),
  );
  assert.ok(lines.includes(`ok    api          ${origin} is reachable`), output.join('\n'));
  assert.ok(
    lines.some((line) => line.startsWith('ok    token        ada')),
    output.join('\n'),
  );
  assert.equal(code, lines.some((line) => line.startsWith('fail')) ? 1 : 0);
  const bad = await call(['doctor', '--json'], { PLATFORM_API_TOKEN: 'plt_wrong' });
  const { ok: isWell, checks } = JSON.parse(bad.output[0]!) as {
    ok: boolean;
    checks: { name: string; status: string }[];
  };
  assert.deepEqual([bad.code, isWell, checks.find(({ name }) => name === 'token')?.status], [1, false, 'fail']);
});
