// Emails by SMTP against a real mail server: TLS, sign-in, refusals, servers that misbehave; what operators see of it,
// and what engines may hand over.
import assert from 'node:assert/strict';
import { after, before, beforeEach, test } from 'node:test';
import { getCACertificates, setDefaultCACertificates } from 'node:tls';
import { openPostgresSql, type PostgresSql } from '#runtime/stores/sql-postgres.ts';
import { createMailPostgres } from '#runtime/stores/mail-postgres.ts';
import { deliverMail, publishMailChannel } from '#control/outbound/mail-queue.ts';
import { sendBySmtp } from '#control/outbound/smtp.ts';
import { mailSettingsFrom, type SmtpServer } from '#core/mail-target.ts';
import { startControl, type TestControl } from '#test/setup/control.ts';
import { makeCertificate, SMTP_LOGIN, startRawServer, startSmtp, type TestSmtp } from '#test/setup/smtp-server.ts';
import { until } from '#test/setup/until.ts';

const ADA = 'ada@example.com';
const mail = { to: ADA, subject: 'Grüße', text: 'Hello\n.\nbye' };
const login = `${SMTP_LOGIN.user}:${encodeURIComponent(SMTP_LOGIN.password)}`;
const from = { name: 'Platform', address: 'platform@example.com' };

let control: TestControl;
let engine: PostgresSql;
let smtp: TestSmtp;
const trusted = makeCertificate();
before(async () => {
  setDefaultCACertificates([...getCACertificates('default'), trusted.cert]);
  [control, smtp] = await Promise.all([startControl(), startSmtp(trusted)]);
  await control.sql`UPDATE control.account SET is_admin = true WHERE id = ${control.owner.accountId}`;
  engine = openPostgresSql({ url: control.engineUrl, name: 'test engine', connectionsMax: 1 });
});
after(async () => {
  await engine.close();
  await control.close();
  await smtp.close();
});
beforeEach(async () => {
  smtp.accepted.length = 0;
  smtp.refusals = {};
  control.mailBy(`smtp://${login}@localhost:${smtp.port}`);
  await control.sql`DELETE FROM control.rate`;
  await control.sql`DELETE FROM control.mail`;
  await control.sql`DELETE FROM control.mail_outcome`;
  await publishMailChannel(control.deps);
});

/** Error of an email to a server. */
async function errorBy(url: string): Promise<string | null> {
  control.mailBy(url);
  return (await control.deps.mail.attempt(mail)).error;
}

test('an email goes to the mail server over TLS, signed in, as plain text to one recipient', async () => {
  assert.equal(await errorBy(`smtp://${login}@localhost:${smtp.port}`), null);
  const [accepted] = smtp.accepted;
  assert.deepEqual(
    { ...accepted!, source: '' },
    { from: 'platform@example.com', to: [ADA], user: 'platform', isSecure: true, source: '' },
  );
  const { source } = accepted!;
  assert.match(source, /^From: Platform <platform@example\.com>\r?$/m);
  assert.match(source, /^To: ada@example\.com\r?$/m);
  assert.match(source, /^Subject: =\?UTF-8\?Q\?Gr=C3=BC=C3=9Fe\?=\r?$/m);
  assert.match(source, /^Auto-Submitted: auto-generated\r?$/m);
  assert.match(source, /^Content-Type: text\/plain; charset=utf-8\r?$/m);
  assert.match(source, /Hello\r\n\.\r\nbye/);
});

test('TLS from the first byte on works, and a certificate is checked for its name and its issuer', async () => {
  const stranger = makeCertificate();
  const [implicit, untrusted] = await Promise.all([
    startSmtp({ ...trusted, secure: true }),
    startSmtp({ ...stranger, secure: true }),
  ]);
  try {
    assert.equal(await errorBy(`smtps://${login}@localhost:${implicit.port}`), null);
    assert.equal(implicit.accepted.length, 1);
    assert.equal(
      await errorBy(`smtps://${login}@127.0.0.1:${implicit.port}`),
      'The certificate of the mail server is not valid: ERR_TLS_CERT_ALTNAME_INVALID',
    );
    assert.equal(
      await errorBy(`smtps://${login}@localhost:${untrusted.port}`),
      'The certificate of the mail server is not valid: DEPTH_ZERO_SELF_SIGNED_CERT',
    );
    assert.equal(untrusted.accepted.length, 0);
  } finally {
    await Promise.all([implicit.close(), untrusted.close()]);
  }
});

test('a server without STARTTLS gets neither the password nor the email, unless TLS is off for a private address', async () => {
  const plain = await startSmtp({ hideSTARTTLS: true, disabledCommands: ['STARTTLS'], allowInsecureAuth: true });
  try {
    assert.equal(await errorBy(`smtp://${login}@localhost:${plain.port}`), 'The mail server offers no STARTTLS (500)');
    assert.equal(plain.accepted.length, 0);
    assert.equal(await errorBy(`smtp://${login}@localhost:${plain.port}?tls=off`), null);
    assert.deepEqual(
      plain.accepted.map(({ isSecure }) => isSecure),
      [false],
    );
    const { target } = mailSettingsFrom((name) =>
      name === 'AUTH_MAIL_URL' ? `smtp://mail.example.com:${plain.port}?tls=off` : ADA,
    );
    const asPublic = await sendBySmtp(target as SmtpServer, from, mail, () =>
      Promise.resolve([{ address: '93.184.215.14', family: 4 }]),
    );
    assert.equal(
      asPublic.error,
      'TLS may only be off for a private address, and the name of the mail server is public',
    );
  } finally {
    await plain.close();
  }
});

test('a wrong password is an error, and no reply, log or answer of the API repeats it', async () => {
  control.mailBy(`smtp://platform:hunter2@localhost:${smtp.port}`);
  const answer = await control.call('POST', '/operator/mail/test', { to: ADA });
  assert.deepEqual(
    [answer.status, answer.body.message],
    [503, 'The mail server refused the user name or the password (535): 535 Password ... is wrong: ...'],
  );
  const checked = await control.call('POST', '/operator/mail/check');
  assert.equal(checked.status, 503);
  const state = (await control.call('GET', '/operator/mail')).body;
  assert.equal(state.server, `localhost:${smtp.port}`);
  assert.doesNotMatch(JSON.stringify([state, checked.body]), /hunter2/);
});

test('a reply that repeats the recipient is kept without the address', async () => {
  smtp.refusals['RCPT bounce@example.com'] = { code: 550, text: '5.1.1 <bounce@example.com> unknown' };
  const { reply } = await control.deps.mail.send({ ...mail, to: 'bounce@example.com' });
  assert.equal(reply, '550 5.1.1 <...> unknown');
});

test('a refused recipient is a bounce that operators see, and it is not tried again', async () => {
  smtp.refusals['RCPT bounce@example.com'] = { code: 550, text: '5.1.1 No such user here' };
  const result = await control.deps.mail.send({ ...mail, to: 'bounce@example.com' });
  assert.deepEqual(result, {
    status: 550,
    error: 'The mail server refused the recipient (550 5.1.1)',
    isTemporary: false,
    reply: '550 5.1.1 No such user here',
  });
  assert.equal((await control.sql`SELECT FROM control.mail`).length, 0);
  const { lastFailure, lastSent, waiting } = (await control.call('GET', '/operator/mail')).body;
  assert.deepEqual(
    { ...lastFailure, at: '' },
    {
      at: '',
      project: null,
      recipient: 'b…@example.com',
      error: 'The mail server refused the recipient (550 5.1.1)',
      reply: '550 5.1.1 No such user here',
    },
  );
  assert.deepEqual([lastSent, waiting], [null, 0]);
  const { findings } = (await control.call('GET', '/operator/health')).body as {
    findings: { name: string; status: string; message: string }[];
  };
  const found = findings.find(({ name }) => name === 'mail')!;
  assert.equal(found.status, 'warn');
  assert.match(found.message, /^The last email was not sent: The mail server refused the recipient/);
});

test('an email that the server wants later is kept encrypted, and sent when it is due', async () => {
  smtp.refusals[`RCPT ${ADA}`] = { code: 451, text: '4.7.1 Greylisted, try again' };
  const secret = { ...mail, text: 'https://platform.example/link-of-ada' };
  const { error, status } = await control.deps.mail.send(secret);
  assert.deepEqual([error, status], [null, 451]);
  const [row] = await control.sql<{ body: string | null; sealed: Buffer }[]>`SELECT body, sealed FROM control.mail`;
  assert.equal(row!.body, null);
  assert.ok(!row!.sealed.toString('latin1').includes('link-of-ada'));
  smtp.refusals = {};
  await control.sql`UPDATE control.mail SET due_at = now()`;
  await delivering(async () => {
    await until(() => smtp.accepted.length === 1);
    assert.match(smtp.accepted[0]!.source, /link-of-ada/);
    await until(async () => (await control.sql`SELECT FROM control.mail`).length === 0);
  });
});

test('header injection is refused before a connection is made', async () => {
  for (const bad of [
    { ...mail, to: 'ada@example.com\r\nBcc: eve@example.com' },
    { ...mail, to: 'ada@example.com, eve@example.com' },
    { ...mail, subject: 'Hello\r\nBcc: eve@example.com' },
    { ...mail, text: 'x'.repeat(70_000) },
  ])
    assert.notEqual((await control.deps.mail.attempt(bad)).error, null);
  assert.equal(smtp.accepted.length, 0);
  assert.equal((await control.call('POST', '/operator/mail/test', { to: 'a@b\r\nBcc: c@d' })).status, 400);
});

test('servers that close, talk nonsense or without end, or say 421 are temporary failures', async () => {
  const servers = await Promise.all([
    startRawServer((socket) => socket.end()),
    startRawServer((socket) => socket.end('421 4.3.2 Shutting down\r\n')),
    startRawServer((socket) => socket.write('x'.repeat(200_000))),
    startRawServer((socket) => socket.write(`220-${'y'.repeat(300)}\r\n`.repeat(1000))),
    startRawServer((socket) => socket.write('HTTP/1.1 400 Bad Request\r\n\r\n')),
    startRawServer((socket) => {
      socket.write('220 hi\r\n');
      socket.once('data', () => {
        socket.write('250-hi\r\n250 STARTTLS\r\n');
        socket.once('data', () => {
          socket.write('220 go\r\n');
          socket.once('data', () => socket.write('nothing of TLS'));
        });
      });
    }),
  ]);
  try {
    const results = [];
    for (const { port } of servers) {
      control.mailBy(`smtp://${login}@localhost:${port}`);
      const { error, isTemporary, status } = await control.deps.mail.attempt(mail);
      results.push([error, isTemporary, status]);
    }
    assert.deepEqual(results, [
      ['The mail server closed the connection', true, null],
      ['The mail server refused the email (421 4.3.2)', true, 421],
      ['The mail server sent an invalid reply', true, null],
      ['The mail server sent an invalid reply', true, null],
      ['The mail server sent an invalid reply', true, null],
      ['TLS to the mail server failed: ERR_SSL_WRONG_VERSION_NUMBER', true, null],
    ]);
  } finally {
    await Promise.all(servers.map((server) => server.close()));
  }
});

test('a server that hangs is left after ten seconds', async (t) => {
  t.mock.timers.enable({ apis: ['setTimeout'] });
  let connected: () => void;
  const isConnected = new Promise<void>((done) => (connected = done));
  const hanging = await startRawServer(() => connected());
  try {
    control.mailBy(`smtp://${login}@localhost:${hanging.port}`);
    const sending = control.deps.mail.attempt(mail);
    await isConnected;
    // The client may be an event behind the server.
    for (let turn = 0; turn < 50; turn++) await new Promise((done) => setImmediate(done));
    t.mock.timers.tick(10_001);
    assert.equal((await sending).error, 'No answer within 10 s');
  } finally {
    t.mock.timers.reset();
    await hanging.close();
  }
});

test('engines hand emails of apps over without knowing the mail server', async () => {
  const apps = createMailPostgres(engine, () => {});
  assert.equal(await apps.deliversMail(), true);
  await apps.sendMail({ ...mail, subject: 'Confirm\r\nyour address' }, 'shop~~feature');
  await delivering(() => until(() => smtp.accepted.length === 1));
  assert.match(smtp.accepted[0]!.source, /^Subject: Confirm your address\r?$/m);
  const { lastSent } = (await control.call('GET', '/operator/mail')).body;
  assert.deepEqual([lastSent.project, lastSent.recipient], ['shop', 'a…@example.com']);
  control.mailBy(null);
  await publishMailChannel(control.deps);
  await assert.rejects(apps.sendMail(mail, 'shop'), { message: 'mail of shop not sent: this platform sends no mail' });
});

test('the role of engines cannot read emails, and its emails are limited by project and in total', async () => {
  await assert.rejects(engine.all('SELECT * FROM control.mail'), /permission denied/);
  await assert.rejects(engine.all('SELECT * FROM control.mail_channel'), /permission denied/);
  for (const to of ['a@b, c@d', 'a@b\r\nBcc: c@d', 'nobody'])
    await assert.rejects(engine.all('SELECT send_mail($1, $2, $3, $4)', 'shop', to, 'x', 'x'), /no email of an app/);
  await assert.rejects(
    engine.all('SELECT send_mail($1, $2, $3, $4)', 'shop', ADA, 'x\r\ny', 'x'),
    /no email of an app/,
  );
  await assert.rejects(
    engine.all('SELECT send_mail($1, $2, $3, $4)', 'shop', ADA, 'x', 'x'.repeat(65_537)),
    /no email of an app/,
  );
  await control.sql`UPDATE control.mail_channel SET project_hour_max = 2, hour_max = 3`;
  const apps = createMailPostgres(engine, () => {});
  const errorOf = (project: string): Promise<string | null> =>
    apps.sendMail(mail, project).then(
      () => null,
      (error: Error) => error.message,
    );
  assert.deepEqual(
    [await errorOf('one'), await errorOf('one'), await errorOf('one'), await errorOf('two'), await errorOf('three')],
    [
      null,
      null,
      'mail of one not sent: the project has sent its emails of this hour (API_MAIL_PROJECT_MAX)',
      null,
      'mail of three not sent: the apps have sent their emails of this hour (API_MAIL_MAX)',
    ],
  );
});

test('only operators see how emails are sent', async () => {
  const { token } = await control.account('max', { [control.organizationId]: 'owner' });
  for (const [method, path] of [
    ['GET', '/operator/mail'],
    ['POST', '/operator/mail/check'],
    ['POST', '/operator/mail/test'],
  ] as const) {
    const body = path.endsWith('test') ? { to: ADA } : undefined;
    assert.equal((await control.call(method, path, body, token)).status, 403);
  }
  control.mailBy(null);
  const off = await control.call('POST', '/operator/mail/test', { to: ADA });
  assert.deepEqual(
    [off.status, off.body.message],
    [501, 'This platform sends no mail: its operator sets AUTH_MAIL_URL'],
  );
});

/** Sends what is due while something happens. */
async function delivering(happens: () => Promise<unknown>): Promise<void> {
  const stopping = new AbortController();
  const done = deliverMail({ ...control.deps, stopping: stopping.signal });
  try {
    await happens();
  } finally {
    stopping.abort();
    await done;
  }
}
