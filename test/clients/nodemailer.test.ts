// nodemailer in workers, unmodified, against an SMTP server.
import assert from 'node:assert/strict';
import { after, before, test } from 'node:test';
import { startClients } from '#test/setup/client-workers.ts';
import { makeCertificate, SMTP_LOGIN, startSmtp, type TestSmtp } from '#test/setup/smtp-server.ts';

let startTls: TestSmtp;
let secure: TestSmtp;
let worker: Awaited<ReturnType<typeof startClients>>;
const certificate = makeCertificate();

before(async () => {
  startTls = await startSmtp(certificate);
  secure = await startSmtp({ ...certificate, secure: true });
  worker = await startClients('nodemailer', {
    CA: certificate.cert,
    USER: SMTP_LOGIN.user,
    PASSWORD: SMTP_LOGIN.password,
  });
});
after(async () => {
  await worker.handler.close();
  await startTls.close();
  await secure.close();
});

test('nodemailer: STARTTLS as on port 587, and TLS from the start as on 465', async () => {
  assert.deepEqual(await worker.asked(`/?port=${startTls.port}`), { accepted: ['ada@example.com'] });
  assert.deepEqual(await worker.asked(`/?secure&port=${secure.port}`), { accepted: ['ada@example.com'] });
  for (const { accepted } of [startTls, secure]) {
    const [{ to, user, isSecure, source } = assert.fail('no letter came')] = accepted;
    assert.deepEqual([to, user, isSecure], [['ada@example.com'], 'platform', true]);
    assert.match(source, /^Subject: Hello$/m);
  }
});
