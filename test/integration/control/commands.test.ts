// The commands of a user over a control plane on real sockets, with real engines: from the first deploy of a folder to
// the deletion of its project.
import assert from 'node:assert/strict';
import { mkdirSync, mkdtempSync, readFileSync, rmSync, statSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { after, before, test } from 'node:test';
import { run } from '#cli/main.ts';
import { createApi } from '#control/api/app.ts';
import { serveApi } from '#control/process/servers.ts';
import { startReleaseControl, type ReleaseControl } from '#test/setup/release-control.ts';
import { until } from '#test/setup/until.ts';
import { recordingShell, type RecordedUser, type RecordingShell } from '#test/unit/cli/recording-shell.ts';

const home = mkdtempSync(path.join(tmpdir(), 'home-'));
const folder = mkdtempSync(path.join(tmpdir(), 'project-'));
let all: ReleaseControl;
let server: Awaited<ReturnType<typeof serveApi>>;
let origin: string;

before(async () => {
  all = await startReleaseControl();
  const api = createApi();
  server = await serveApi({ port: 0, host: '127.0.0.1', fetch: (request) => api.fetch(request, all.control.deps) });
  origin = `http://127.0.0.1:${server.port}`;
  file('platform.yaml', 'kind: worker\nname: shop\n');
});
after(async () => {
  await server.close();
  await all.close();
  for (const one of [home, folder]) rmSync(one, { recursive: true });
});

const file = (name: string, text: string): void => {
  mkdirSync(path.dirname(path.join(folder, name)), { recursive: true });
  writeFileSync(path.join(folder, name), text);
};
const worker = (says: string): string =>
  `console.log('starts ${says}');\nexport default { fetch(request, env) { console.warn('asked'); return new Response('${says} ' + JSON.stringify(env.vars)); } };\n`;
const says = async (host: string): Promise<string> => (await all.platform.fetch(host)).text;

async function call(
  words: readonly string[],
  env: Record<string, string> = {},
  user: RecordedUser = {},
): Promise<RecordingShell & { code: number }> {
  const given = { PLATFORM_HOME: home, PLATFORM_API_URL: origin, PLATFORM_API_TOKEN: all.control.owner.token, ...env };
  const shell = recordingShell(folder, given, user);
  return Object.assign(shell, { code: await run(words, shell) });
}

async function ok(...words: string[]): Promise<string[]> {
  const { code, output, errors } = await call(words);
  assert.equal(code, 0, [...output, ...errors].join('\n'));
  return output;
}

async function json<Answer>(...words: string[]): Promise<Answer> {
  return JSON.parse((await ok(...words, '--json'))[0]!) as Answer;
}

interface Told {
  readonly deployment: string;
  readonly urls: readonly string[];
  readonly production: boolean;
}

let first: Told;
let second: Told;

test('a first deploy whose build fails makes no project; one whose worker does not start leaves it, and says so', async () => {
  const projects = async (): Promise<string[]> =>
    (await all.control.call('GET', `/orgs/${all.control.organizationId}/projects`)).body.items.map(
      ({ name }: { name: string }) => name,
    );
  file('src/index.ts', 'export default {');
  assert.equal((await call(['deploy', '--name', 'broken'])).code, 1);
  assert.deepEqual(await projects(), []);
  file('src/index.ts', "throw new Error('made of glass');\nexport default {};\n");
  const { code, errors } = await call(['deploy', '--name', 'broken']);
  assert.equal(code, 1);
  assert.match(errors.join('\n'), /made of glass/);
  assert.match(
    errors.join('\n'),
    /The project broken was created: deploy again, or delete it with `platform projects delete broken`/,
  );
  assert.deepEqual(await projects(), ['broken']);
  file('src/index.ts', worker('mended'));
  const again = await call(['deploy']);
  assert.deepEqual([again.code, again.errors], [0, []], 'the folder is linked to it');
  assert.equal(await says('broken'), 'mended {}');
  await ok('projects', 'delete', 'broken', '--yes');
  rmSync(path.join(folder, '.platform'), { recursive: true });
});

test('a deploy of a project that calls models says what is missing for them', async () => {
  const { deps } = all.control;
  const { operatorAi } = deps;
  const deployed = async (set: typeof operatorAi): Promise<readonly [string, unknown]> => {
    Object.assign(deps, { operatorAi: set });
    const { code, output, errors } = await call(['deploy', '--name', 'models', '--json']);
    assert.equal(code, 0, errors.join('\n'));
    return [errors.find((line) => line.startsWith('AI: ')) ?? '', (JSON.parse(output.at(-1)!) as { ai: unknown }).ai];
  };
  file('platform.yaml', 'kind: worker\nname: shop\nai: true\n');
  file('src/index.ts', worker('models'));
  try {
    assert.deepEqual(await deployed({ kinds: [], auto: [] }), [
      'AI: No AI provider is set up: the operator sets AI_PROVIDER_<NAME>_KEY and AI_AUTO (AI_PROVIDER_MOCK_KIND=mock needs no key), or an owner of the organization adds a provider on its AI page',
      'no_provider',
    ]);
    assert.deepEqual(await deployed(operatorAi), ['', 'ready']);
  } finally {
    Object.assign(deps, { operatorAi });
    file('platform.yaml', 'kind: worker\nname: shop\n');
  }
  await ok('projects', 'delete', 'models', '--yes');
  rmSync(path.join(folder, '.platform'), { recursive: true });
});

test('the first deploy of a folder makes the project, links the folder, and what it prints answers', async () => {
  file('src/index.ts', worker('one'));
  const { code, output, errors } = await call(['deploy']);
  assert.equal(code, 0, errors.join('\n'));
  assert.equal(output[0], `Deploying to ${origin}`);
  assert.match(output[1]!, /^Built [0-9a-f]{12}: 3 files, /);
  const [, id] = /^Deployed shop as (d[0-9a-z]{12}) \(production\)$/.exec(output[2]!) ?? [];
  assert.deepEqual(output.slice(3), [
    '  http://shop.localhost:4001',
    '  http://shop--main.localhost:4001',
    `  http://shop--${id}.localhost:4001`,
  ]);
  assert.deepEqual(errors, ['Created the project shop']);
  assert.equal(await says('shop'), 'one {}');
  const link = JSON.parse(readFileSync(path.join(folder, '.platform/project.json'), 'utf8')) as Record<string, string>;
  assert.deepEqual(
    [link['apiUrl'], link['organizationId'], link['projectId']!.startsWith('prj_')],
    [origin, all.control.organizationId, true],
  );
  first = { deployment: id!, urls: [], production: true };
});

test('a branch becomes a preview; production stays, and deployments list what leads where', async () => {
  file('src/index.ts', worker('login'));
  const preview = await json<Told>('deploy', '--branch', 'login');
  assert.deepEqual([preview.production, preview.urls[0]], [false, 'http://shop--login.localhost:4001']);
  assert.equal(await says('shop--login'), 'login {}');
  assert.equal(await says('shop'), 'one {}');
  const { production, deployments } = await json<{
    production: string;
    deployments: { deployment: string; branch: string; status: string; production: boolean }[];
  }>('deployments');
  assert.equal(production, first.deployment);
  assert.deepEqual(
    deployments.map(({ deployment, branch, status, production: isLive }) => [deployment, branch, status, isLive]),
    [
      [preview.deployment, 'login', 'success', false],
      [first.deployment, 'main', 'success', true],
    ],
  );
  const piped = await ok('deployments', 'ls', '--branch', 'main');
  assert.match(
    piped[0]!,
    new RegExp(`^${first.deployment}\tmain\tproduction\t[-\\d]+ [\\d:]+\thttp://shop\\.localhost:4001$`),
  );
  const { output } = await call(['deployments'], {}, { isTerminal: true });
  assert.match(output[0]!, /^DEPLOYMENT {5}BRANCH {2}STATUS {6}CREATED {11}URL$/);
});

test('promote and rollback move production, by branch and back', async () => {
  file('src/index.ts', worker('two'));
  file('.env', 'HOST_EMAIL=host@example.org\n');
  const deployed = await json<Told & { readonly unsetVariables: readonly string[] }>('deploy');
  rmSync(path.join(folder, '.env'));
  assert.deepEqual(deployed.unsetVariables, ['HOST_EMAIL']);
  second = deployed;
  assert.equal(await says('shop'), 'two {}');
  const [promoted, url] = await ok('promote', 'login');
  assert.match(promoted!, /^Promoted d[0-9a-z]{12} \(login\) is production of shop$/);
  assert.equal(url, '  http://shop.localhost:4001');
  assert.equal(await says('shop'), 'login {}');
  const back = await json<{ production: string; previousDeploymentId: string }>('rollback');
  assert.equal(back.production, second.deployment);
  assert.equal(await says('shop'), 'two {}');
  const unknown = await call(['promote', 'nothing']);
  assert.deepEqual(
    [unknown.code, unknown.errors[0]],
    [
      2,
      'error shop has no deployment and no branch "nothing"\n`platform deployments --name shop` lists the deployments.',
    ],
  );
});

test('a worker that does not start is refused with its error and its log, and production stays', async () => {
  file('src/index.ts', 'const settings = null;\nsettings.port;\nexport default { fetch: () => new Response() };\n');
  const { code, errors } = await call(['deploy']);
  assert.equal(code, 1);
  const lines = errors[0]!.split('\n');
  const thrown = "The worker threw while it was loaded: TypeError: Cannot read properties of null (reading 'port')";
  assert.equal(lines[0]!.replace(/d[0-9a-z]{12}/, 'ID'), `error Deployment ID failed: ${thrown} (worker_start_failed)`);
  assert.equal(lines[1], '  |     at src/index.ts:2:10');
  assert.match(lines[2]!, /^\d\d:\d\d:\d\d upload +Received \d files, \d+ bytes/);
  // The log's own lines after the first are marked, too, and say it once.
  assert.deepEqual(
    lines.filter((line) => line.includes('at src/index.ts')),
    [lines[1], lines[1]],
  );
  assert.equal(await says('shop'), 'two {}');
  const { status } = await json<{ status: string }>('deployments', 'view');
  assert.equal(status, 'failure');
  const log = await ok('deployments', 'logs');
  assert.match(log[0]!, /^\d\d:\d\d:\d\d upload +Received \d files, \d+ bytes/);
  assert.deepEqual(await ok('logs', '--build'), log);
  file('src/index.ts', worker('two'));
});

test('variables have scopes, secrets are never told, and they are there from the next deployment on', async () => {
  await ok('env', 'set', 'KEY=value', 'OTHER=1');
  await ok('env', 'set', 'KEY=test', '--target', 'preview');
  await ok('env', 'set', 'KEY=own', '--branch', 'login');
  await ok('env', 'set', 'LOCAL=dev', '--target', 'dev');
  const secret = await call(['env', 'set', 'TOKEN', '--secret'], {}, { input: 'hush\n' });
  assert.equal(secret.code, 0, secret.errors.join('\n'));
  assert.deepEqual(await ok('env', 'list', '--show'), [
    'KEY    production  value',
    'OTHER  production  1',
    'TOKEN  production (secret)',
    'KEY    previews  test',
    'KEY    previews of login  own',
    'LOCAL  dev  dev',
  ]);
  assert.doesNotMatch(JSON.stringify(await json('env', 'list', '--show')), /hush/);
  await ok('env', 'rm', 'OTHER');
  const gone = await call(['env', 'unset', 'OTHER']);
  assert.deepEqual(
    [gone.code, gone.errors[0]],
    [1, 'error OTHER is not set for production of shop\n`platform env list` shows the variables.'],
  );
  await ok('deployments', 'retry', 'main', '--follow');
  assert.equal(await says('shop'), 'two {"KEY":"value","TOKEN":"hush"}');
  assert.deepEqual(await ok('env', 'pull', '--target', 'dev'), ['Wrote .env: 1 variables of dev']);
  assert.equal(readFileSync(path.join(folder, '.env'), 'utf8'), "LOCAL='dev'\n");
  assert.equal(statSync(path.join(folder, '.env')).mode & 0o777, 0o600);
  const pulled = await call(['env', 'pull', 'production.env']);
  assert.deepEqual(pulled.errors, ['Secret values are not included: fill in TOKEN yourself']);
  file('new.env', 'KEY=pushed\nMORE=2\n');
  await ok('env', 'push', 'new.env', '--branch', 'login');
  assert.deepEqual(await ok('env', 'list', '--show', '--branch', 'login'), [
    'KEY   previews of login  pushed',
    'MORE  previews of login  2',
  ]);
  rmSync(path.join(folder, '.env'));
});

test('the log of workers is told by level and by branch', async () => {
  await says('shop');
  const warned = ['logs', '--level', 'warn', '--lines', '1', '--since', '1h', '--search', 'ASKED'];
  const unmatched = await call(['logs', '--search', 'nobody wrote this']);
  assert.deepEqual([unmatched.code, unmatched.output, unmatched.errors], [0, [], ['No log lines match']]);
  const early = await call(['logs', '--branch', 'nothing-was-deployed-here']);
  assert.deepEqual(early.errors, ['No log lines match']);
  const lines = await until(async () => {
    const found = await ok(...warned);
    return found.length > 0 ? found : null;
  });
  assert.match(lines[0]!, /^\d{4}-\d\d-\d\d \d\d:\d\d:\d\d\.\d{3} d[0-9a-z]{12} warn {2}asked$/);
  const [line] = (await ok('logs', '--json', '--lines', '1')).map((text) => JSON.parse(text) as { deployment: string });
  assert.match(line!.deployment, /^d[0-9a-z]{12}$/);
});

test('requests are shown beside lines, those that were and those that come', async () => {
  await says('shop');
  const request = / \S+ d[0-9a-z]{12} GET \/ 200 in \d+ ms, \d+\.\d ms of CPU$/;
  await until(async () => ((await ok('logs', '--requests')).some((line) => request.test(` ${line}`)) ? true : null));
  const found = (await ok('logs', '--requests', '--json')).map((line) => JSON.parse(line) as { path?: string });
  assert.ok(found.some((one) => one.path === '/'));
  const following = recordingShell(folder, {
    PLATFORM_HOME: home,
    PLATFORM_API_URL: origin,
    PLATFORM_API_TOKEN: all.control.owner.token,
  });
  const seen = Promise.withResolvers<void>();
  const out = (line: string): void => (following.out(line), request.test(` ${line}`) ? seen.resolve() : undefined);
  const ended = run(['logs', '-f', '--lines', '0'], { ...following, isTerminal: true, out });
  let isSeen = false;
  void seen.promise.then(() => (isSeen = true));
  await until(async () => (await says('shop'), isSeen || null));
  following.stop();
  assert.equal(await ended, 0);
  const both = await call(['logs', '--requests', '--search', 'x']);
  assert.deepEqual(
    [both.code, both.errors[0]!.split('\n')[0]],
    [2, 'error --search cannot be combined with --requests'],
  );
});

test('projects, organizations and tokens are made, listed and taken away; what destroys asks', async () => {
  const made = await json<{ id: string; name: string }>('projects', 'create', 'other');
  assert.equal(made.name, 'other');
  assert.deepEqual(
    (await ok('projects')).map((line) => line.split('\t').slice(0, 2)),
    [
      ['other', 'acme'],
      ['shop', 'acme'],
    ],
  );
  const set = await json<{ settings: Record<string, unknown> }>(
    'projects',
    'settings',
    'buildCommand=npm run build',
    '-n',
    'other',
  );
  assert.equal(set.settings['buildCommand'], 'npm run build');
  const unsaid = await call(['projects', 'delete', 'other']);
  assert.deepEqual(
    [unsaid.code, unsaid.errors[0]!.split('\n')[1]],
    [2, 'Standard input is not a terminal: pass --yes to confirm.'],
  );
  const wrong = await call(['projects', 'delete', 'other'], {}, { answers: ['othr'] });
  assert.deepEqual([wrong.code, wrong.errors[0]], [1, 'error Canceled']);
  const right = await call(['projects', 'delete', 'other'], {}, { answers: ['other'] });
  const advice = 'Data of the project is removed after 30 days. Remove the data now: platform org storage delete other';
  assert.deepEqual([right.code, right.output], [0, ['Deleted other', advice]]);
  assert.equal((await call(['org', 'storage', 'delete', 'other'])).code, 2);
  assert.deepEqual(await ok('org', 'storage', 'delete', 'other', '--yes'), ['The data of other is being removed']);
  await until(
    async () => (await ok('org', 'storage', 'delete', 'other', '-y'))[0] === 'The data of other is already removed',
  );
  const live = await call(['org', 'storage', 'delete', 'shop', '--yes']);
  assert.deepEqual([live.code, live.errors[0]!.split('\n')[0]!.startsWith('error shop is not deleted')], [1, true]);
  assert.equal((await ok('org', 'list'))[0]!.split('\t')[0], 'acme');
  const [secret] = await ok('tokens', 'create', 'ci', '--scope', 'read', '--days', '7', '--project', 'shop');
  const env = { PLATFORM_API_TOKEN: secret! };
  assert.equal((await call(['deployments', 'view'], env)).code, 0);
  const refused = await call(['env', 'set', 'A=1'], env);
  assert.equal(refused.code, 1);
  assert.match(
    refused.errors[0]!,
    /^error This requires the permission variable:write \(forbidden, request [\w-]+\)\n/,
  );
  assert.deepEqual(await ok('tokens', 'revoke', 'ci', '--yes'), ['Revoked ci']);
  const expired = await call(['deployments', 'view', '--json'], env);
  const { errors } = JSON.parse(expired.output[0]!) as {
    errors: { code: string; requestId: string; advice: string }[];
  };
  assert.deepEqual([expired.code, errors[0]!.code, typeof errors[0]!.requestId], [1, 'unauthorized', 'string']);
});
