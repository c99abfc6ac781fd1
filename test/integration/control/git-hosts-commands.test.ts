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
