// `platform mail` and the mail check of `platform doctor`, over a control plane on a real socket and a mail server.
import assert from 'node:assert/strict';
import { after, before, test } from 'node:test';
import { run } from '#cli/main.ts';
import { checkApi } from '#cli/doctor/check-api.ts';
import { createApi } from '#control/api/app.ts';
import { serveApi } from '#control/process/servers.ts';
import { openApi } from '#cli/account/api.ts';
import { startControl, type TestControl } from '#test/setup/control.ts';
import { startSmtp, type TestSmtp } from '#test/setup/smtp-server.ts';
import { recordingShell } from '#test/unit/cli/recording-shell.ts';

let control: TestControl;
let smtp: TestSmtp;
let server: Awaited<ReturnType<typeof serveApi>>;
before(async () => {
  [control, smtp] = await Promise.all([
    startControl(),
    startSmtp({ hideSTARTTLS: true, authOptional: true, allowInsecureAuth: true }),
  ]);
  await control.sql`UPDATE control.account SET is_admin = true WHERE id = ${control.owner.accountId}`;
  const api = createApi();
  server = await serveApi({ port: 0, host: '127.0.0.1', fetch: (request) => api.fetch(request, control.deps) });
});
after(async () => {
  await server.close();
  await control.close();
  await smtp.close();
});

const shellOf = () =>
  recordingShell('/', {
    PLATFORM_HOME: '/nowhere',
    PLATFORM_API_URL: `http://127.0.0.1:${server.port}`,
    PLATFORM_API_TOKEN: control.owner.token,
  });

async function call(...words: string[]): Promise<readonly [code: number, output: string[], errors: string[]]> {
  const shell = shellOf();
  const code = await run(words, shell);
  return [code, shell.output, shell.errors];
}

async function doctorSays(): Promise<unknown> {
  return (await checkApi(await openApi(shellOf()))).find(({ name }) => name === 'mail');
}

test('operators test mail and see the last failure in the terminal', async () => {
  control.mailBy(null);
  assert.deepEqual((await call('mail'))[1][0], 'No mail is set up: see AUTH_MAIL_URL');
  assert.deepEqual(await doctorSays(), { name: 'mail', status: 'ok', message: 'No mail is set up', advice: null });

  control.mailBy('https://hooks.example.com/secret-path');
  assert.deepEqual(await doctorSays(), {
    name: 'mail',
    status: 'ok',
    message: 'Emails are posted to hooks.example.com: not checked',
    advice: null,
  });

  control.mailBy(`smtp://platform:hunter2@127.0.0.1:${smtp.port}?tls=off`);
  assert.deepEqual(await doctorSays(), {
    name: 'mail',
    status: 'fail',
    message: 'The mail server refused the user name or the password (535): 535 Password ... is wrong: ...',
    advice: 'Check AUTH_MAIL_URL of the platform.',
  });

  control.mailBy(`smtp://127.0.0.1:${smtp.port}?tls=off`);
  smtp.refusals['RCPT bounce@example.com'] = { code: 550, text: 'No such user here' };
  const [code, , errors] = await call('mail', 'test', 'bounce@example.com');
  assert.equal(code, 1);
  assert.match(errors.join('\n'), /The mail server refused the recipient \(550\): 550 No such user here/);
  assert.deepEqual(await call('mail', 'test', 'ada@example.com'), [
    0,
    [`Sent to ada@example.com: 127.0.0.1:${smtp.port} accepted it`],
    [],
  ]);
  assert.deepEqual(
    smtp.accepted.map(({ to }) => to),
    [['ada@example.com']],
  );
  assert.deepEqual(await doctorSays(), {
    name: 'mail',
    status: 'ok',
    message: `127.0.0.1:${smtp.port} accepts the platform`,
    advice: null,
  });

  const [, output] = await call('mail', 'status');
  assert.deepEqual(
    output.map((line) => line.replace(/\d{4}-\S+( \S+)?,/, '<time>,')),
    [
      `Emails are sent by SMTP to 127.0.0.1:${smtp.port}, from Platform <platform@example.com>`,
      'Waiting       0',
      'Last sent     <time>, to a…@example.com',
      'Last failure  <time>, to b…@example.com: The mail server refused the recipient (550): 550 No such user here',
    ],
  );
});
