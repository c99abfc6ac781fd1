// Sign-in where letters reach people: no answer tells whether there is an account.
import assert from 'node:assert/strict';
import { after, before, test } from 'node:test';
import { createAuthRoutes } from '#runtime/engine/auth/routes.ts';
import { type Mail } from '#runtime/engine/auth/site.ts';
import { createUsers } from '#runtime/engine/auth/users.ts';
import { noStores } from '#test/setup/no-stores.ts';
import { HostWork } from '#runtime/engine/work/host-work.ts';
import { startDatabases, type TestDatabases } from '#test/setup/databases.ts';
import { startHandler, type TestHandler, type TestResponse } from '#test/setup/handler.ts';

const worker = `export default { fetch: () => new Response('') };`;
const yaml = 'auth:\n  binding: PLATFORM_AUTH\n';
/** Passwords that cost a hundredth. */
const cheap = { secret: Buffer.alloc(32, 9), passwordCost: 128 };
const work = new HostWork();
const mails: Mail[] = [];
let databases: TestDatabases;
let lettered: TestHandler;
let client = 0;

before(async () => {
  databases = await startDatabases();
  const withLetters = createUsers({
    databases: databases.client,
    work,
    ...cheap,
    protocol: 'http',
    deliversMail: () => Promise.resolve(true),
    sendMail: (mail) => {
      mails.push(mail);
      // It fails later, which nobody who asked hears of.
      return mail.to.startsWith('bounces') ? Promise.reject(new Error('no postman')) : Promise.resolve();
    },
    log: () => {},
  });
  lettered = await startHandler(
    { letters: { files: worker, yaml }, open: { files: worker, yaml, vars: { AUTH_REQUIRE_VERIFICATION: 'false' } } },
    {},
    {
      stores: { ...noStores, auth: withLetters },
      authRoutes: createAuthRoutes(withLetters),
      trustedProxies: ['127.0.0.1'],
    },
  );
});
after(async () => {
  await lettered.close();
  await work.close();
  await databases.close();
});

test('where letters are sent, signing up and forgetting a password answer alike whether there is an account or not', async () => {
  const ask = (path: string, body: object, project = 'letters'): Promise<TestResponse> =>
    lettered.fetch(project, path, {
      method: 'POST',
      body: JSON.stringify(body),
      headers: { 'content-type': 'application/json', 'x-forwarded-for': `198.51.100.${++client % 200}` },
    });
  /** All that a client sees of an answer, without what is different in each. */
  const seen = ({ status, headers, text }: TestResponse): unknown => [
    status,
    Object.keys(headers).sort(),
    text.replace(/"id":"[A-Za-z0-9]{32}"/, 'id').replaceAll(/"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z"/g, 'time'),
  ];
  const person = { email: 'ada@letters.example', password: 'password1', name: 'Ada' };
  for (const [path, body] of [
    ['/auth/signup', { metadata: { plan: 'pro' } }],
    ['/auth/signup', {}],
    ['/auth/sign-up/email', {}],
  ] as const) {
    const fresh = { ...person, ...body, email: `${client}@letters.example` };
    const first = await ask(path, fresh);
    const second = await ask(path, fresh);
    assert.equal(first.status, 200, first.text);
    assert.deepEqual(seen(second), seen(first));
    assert.deepEqual(
      mails.filter(({ to }) => to === fresh.email).map(({ subject }) => subject),
      ['Confirm your address', 'You have an account already'],
    );
  }
  const up = await ask('/auth/signup', person);
  assert.deepEqual([(up.json() as { token: unknown }).token, up.headers['set-cookie']], [null, undefined]);
  assert.equal((await ask('/auth/signup', { ...person, email: 'bounces@letters.example' })).status, 200);
  for (const path of [
    '/auth/reset-password',
    '/auth/request-password-reset',
    '/auth/verify-email',
    '/auth/send-verification-email',
  ])
    assert.deepEqual(
      seen(await ask(path, { email: 'bounces@letters.example' })),
      seen(await ask(path, { email: 'nobody@letters.example' })),
      path,
    );
  // A second sign-up changed nothing of the first one's, and its address is confirmed by letter, at the latest when it
  // signs in.
  await ask('/auth/signup', { ...person, password: 'password2' });
  assert.equal((await ask('/auth/signin', { ...person, password: 'password2' })).status, 401);
  assert.equal((await ask('/auth/signin', person)).status, 403);
  const letter = mails.findLast(({ to, subject }) => to === person.email && subject === 'Confirm your address') as Mail;
  const address = new URL(/(http\S+)/.exec(letter.text)?.[1] as string);
  assert.equal((await lettered.fetch('letters', address.pathname + address.search)).status, 302);
  assert.equal((await ask('/auth/signin', person)).status, 200);
  // A project may choose otherwise.
  assert.notEqual(((await ask('/auth/signup', person, 'open')).json() as { token: unknown }).token, null);
  assert.equal((await ask('/auth/signup', person, 'open')).status, 409);
});
