// An app's email on a whole platform: from the request of a visitor over engine, Postgres and API process to a mail
// server, whose password no engine has.
import assert from 'node:assert/strict';
import { mkdirSync, readFileSync, writeFileSync } from 'node:fs';
import { request } from 'node:http';
import path from 'node:path';
import { json } from 'node:stream/consumers';
import { after, before, test } from 'node:test';
import { SMTP_LOGIN, startSmtp, type TestSmtp } from '#test/setup/smtp-server.ts';
import { until } from '#test/setup/until.ts';
import { startWholePlatform, type Json, type WholePlatform } from '#test/setup/whole-platform.ts';

const login = `${SMTP_LOGIN.user}:${encodeURIComponent(SMTP_LOGIN.password)}`;
let smtp: TestSmtp;
let platform: WholePlatform;
before(async () => {
  smtp = await startSmtp({ hideSTARTTLS: true, allowInsecureAuth: true });
  platform = await startWholePlatform({
    UI_PORT: 'off',
    HANDLER_SPARES: '0',
    AUTH_MAIL_URL: `smtp://${login}@127.0.0.1:${smtp.port}?tls=off`,
    MAIL_FROM: 'Platform <platform@example.com>',
  });
});
after(async () => {
  await platform?.close();
  await smtp?.close();
});

/** Posts JSON to the app shop. */
function post(at: string, body: object): Promise<Json> {
  return new Promise((resolve, reject) => {
    const headers = { host: 'shop.localhost', 'content-type': 'application/json' };
    const sent = request(
      { host: '127.0.0.1', port: platform.ports.handler, method: 'POST', path: at, headers },
      (response) => void json(response).then(resolve, reject),
    );
    sent.on('error', reject);
    sent.end(JSON.stringify(body));
  });
}

test('a visitor of an app gets an email by SMTP, and no engine has the password of the mail server', async () => {
  const folder = path.join(platform.folder, 'shop');
  mkdirSync(path.join(folder, 'src'), { recursive: true });
  writeFileSync(path.join(folder, 'platform.yaml'), 'name: shop\nauth:\n  binding: PLATFORM_AUTH\n');
  writeFileSync(path.join(folder, 'src/index.ts'), "export default { fetch: () => new Response('hi') };\n");
  await platform.cli(folder, 'deploy');
  const { user, token } = await post('/auth/signup', { email: 'ada@example.com', password: 'password1', name: 'Ada' });
  // Since emails are sent, the address is confirmed first.
  assert.deepEqual([user.email, token], ['ada@example.com', null]);
  await until(() => smtp.accepted.length === 1);
  const [{ to, from, user: signedIn, source }] = smtp.accepted as [TestSmtp['accepted'][number]];
  assert.deepEqual([to, from, signedIn], [['ada@example.com'], 'platform@example.com', 'platform']);
  assert.match(source, /^Subject: Confirm your address\r?$/m);
  const { lastSent } = await platform.call('GET', '/operator/mail');
  assert.deepEqual([lastSent.project, lastSent.recipient], ['shop', 'a…@example.com']);

  const { engines } = await platform.status();
  assert.ok(engines.length > 0);
  for (const { pid } of engines) {
    const environment = readFileSync(`/proc/${pid}/environ`, 'utf8');
    assert.match(environment, /\0ENGINE_DATABASE_URL=/);
    assert.doesNotMatch(environment, new RegExp(`AUTH_MAIL_URL|${encodeURIComponent(SMTP_LOGIN.password)}`));
  }
});
