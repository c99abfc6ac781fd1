// `platform git-hosts` and the check of Git hosts of `platform doctor`, over a control plane on a real socket.
import assert from 'node:assert/strict';
import { after, before, test } from 'node:test';
import { run } from '#cli/main.ts';
import { checkApi } from '#cli/doctor/check-api.ts';
import { createApi } from '#control/api/app.ts';
import { serveApi } from '#control/process/servers.ts';
import { openApi } from '#cli/account/api.ts';
import { gitConfigurationFrom } from '#git/configuration.ts';
import { startControl, type TestControl } from '#test/setup/control.ts';
import { giteaDialect } from '#test/setup/token-hosts/gitea.ts';
import { startTokenHost, type TestTokenHost } from '#test/setup/token-hosts/token-host.ts';
import { recordingShell } from '#test/unit/cli/recording-shell.ts';

let control: TestControl;
let host: TestTokenHost;
let server: Awaited<ReturnType<typeof serveApi>>;
before(async () => {
  host = await startTokenHost(giteaDialect);
  control = await startControl({ git: gitConfigurationFrom({ GIT_REMOTE_PRIVATE_HOSTS: '127.0.0.1' }) });
  await control.sql`UPDATE control.account SET is_admin = true WHERE id = ${control.owner.accountId}`;
  const api = createApi();
  server = await serveApi({ port: 0, host: '127.0.0.1', fetch: (request) => api.fetch(request, control.deps) });
});
after(async () => {
  await server.close();
  await control.close();
  await host.close();
});

const shellOf = (input = '') => {
  const env = {
    PLATFORM_HOME: '/nowhere',
    PLATFORM_API_URL: `http://127.0.0.1:${server.port}`,
    PLATFORM_API_TOKEN: control.owner.token,
  };
  return recordingShell('/', env, { input });
};

async function call(
  words: readonly string[],
  input = '',
): Promise<readonly [code: number, output: string[], errors: string[]]> {
  const shell = shellOf(input);
  const code = await run([...words], shell);
  return [code, shell.output, shell.errors];
}

const doctorSays = async (): Promise<unknown[]> =>
  (await checkApi(await openApi(shellOf())))
    .filter(({ name }) => name === 'git host')
    .map(({ status, message }) => [status, message]);

test('a host is added, an account connected and checked, and the host removed', async () => {
  assert.deepEqual(await call(['git-hosts']), [0, [], []]);
  assert.deepEqual(await call(['git-hosts', 'add', 'gitea', 'Code', '--url', host.url]), [
    0,
    [
      `Added Code: ${host.url}`,
      '  create an access token with the scopes read:user, write:repository and write:issue,',
      '  then: platform git-hosts connect Code < token.txt',
    ],
    [],
  ]);
  const [failed, , errors] = await call(['git-hosts', 'connect', 'Cod'], 'x');
  assert.equal(failed, 2);
  assert.match(errors.join('\n'), /There is no Git host "Cod"/);
  const token = host.token('ada');
  assert.deepEqual(await call(['git-hosts', 'connect', 'code'], `${token}\n`), [
    0,
    ['Connected ada on Code to acme'],
    [],
  ]);
  const [, listed] = await call(['git-hosts', 'list']);
  assert.deepEqual(listed.at(-1)!.split('\t'), ['Code', 'gitea', host.url, 'ada', '-', '-']);
  assert.deepEqual(await call(['git-hosts', 'check', 'Code']), [0, ['Code: 1 accounts, 0 repositories'], []]);
  assert.deepEqual(await doctorSays(), [['ok', 'Code has no known problem']]);

  await control.sql`UPDATE control.installation SET problem = 'Code refused the access token'`;
  const [code, output] = await call(['git-hosts', 'check', 'Code']);
  const problem = 'The token of ada (organization acme): Code refused the access token';
  assert.deepEqual([code, output.at(-1)], [1, `  ${problem}`]);
  assert.deepEqual(await doctorSays(), [['warn', `Code: ${problem}`]]);

  assert.deepEqual(await call(['git-hosts', 'rm', 'Code', '--yes']), [0, ['Removed Code'], []]);
  assert.deepEqual((await doctorSays()).length, 1);
});

test('the GitHub App is created on a page that the command names', async () => {
  const page = `${control.deps.addresses.ui}/api/auth/git-host-application`;
  assert.deepEqual(await call(['git-hosts', 'add', 'github']), [
    0,
    [`Open this page to create the GitHub App: ${page}`],
    [],
  ]);
  const [code, , errors] = await call(['git-hosts', 'rm', 'github', '-y']);
  assert.equal(code, 1);
  assert.match(errors.join('\n'), /not found/i);
});

test('an OAuth application is shown, set without its secret in the arguments, used and removed', async () => {
  const { oauth } = host.state;
  await call(['git-hosts', 'add', 'gitea', 'Forge', '--url', host.url]);
  const [, how] = await call(['git-hosts', 'oauth', 'Forge']);
  assert.match(
    how.join('\n'),
    /redirect URL: http:\/\/localhost:3002\/api\/auth\/callback\/git-hosts\/gho_[a-z0-9]{20}/,
  );
  assert.match(how.join('\n'), /scopes: read:user write:repository write:issue/);
  const [none, , said] = await call(['git-hosts', 'connect', 'Forge', '--browser']);
  assert.deepEqual([none, /Forge has no OAuth application/.test(said.join('\n'))], [1, true]);
  assert.equal((await call(['git-hosts', 'oauth', 'Forge', oauth.clientId]))[0], 2);
  assert.deepEqual(await call(['git-hosts', 'oauth', 'Forge', oauth.clientId], `${oauth.clientSecret}\n`), [
    0,
    ['Saved: members connect accounts on the page Git hosts, without a token'],
    [],
  ]);
  const [, opened] = await call(['git-hosts', 'connect', 'Forge', '--browser']);
  assert.match(
    opened.join('\n'),
    /http:\/\/localhost:3002\/api\/auth\/git-hosts\/gho_[a-z0-9]{20}\/connect\?organization=org_/,
  );
  assert.deepEqual(await call(['git-hosts', 'oauth', 'Forge', '--rm']), [
    0,
    ['Removed the OAuth application of Forge'],
    [],
  ]);
  await call(['git-hosts', 'rm', 'Forge', '-y']);
});
