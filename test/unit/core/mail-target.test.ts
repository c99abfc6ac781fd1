// AUTH_MAIL_URL and MAIL_FROM: what is accepted, and errors that name the variable and contain no password.
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { isMailAddress, mailSettingsFrom, type MailSettings } from '#core/mail-target.ts';

const FROM = 'platform@example.com';
const read = (url: string, from = FROM): MailSettings =>
  mailSettingsFrom((name) => (name === 'AUTH_MAIL_URL' ? url : from));

test('a mail server is named by a URL, and requires TLS', () => {
  assert.deepEqual(read('smtp://user:p%40ss%3A%2F@mail.example.com').target, {
    kind: 'smtp',
    host: 'mail.example.com',
    port: 587,
    tls: 'starttls',
    login: { user: 'user', password: 'p@ss:/' },
  });
  assert.deepEqual(read('smtps://[2001:db8::1]/').target, {
    kind: 'smtp',
    host: '2001:db8::1',
    port: 465,
    tls: 'implicit',
    login: null,
  });
  assert.deepEqual(read('smtp://127.0.0.1:1025?tls=off').target, {
    kind: 'smtp',
    host: '127.0.0.1',
    port: 1025,
    tls: 'off',
    login: null,
  });
  assert.deepEqual(read('https://hooks.example.com/mail?key=1', ''), {
    target: { kind: 'post', url: 'https://hooks.example.com/mail?key=1' },
    from: null,
  });
  assert.deepEqual(read('', ''), { target: null, from: null });
});

test('a URL that cannot work is refused, without its password', () => {
  const cases: readonly (readonly [url: string, problem: string])[] = [
    ['mail.example.com', 'AUTH_MAIL_URL must begin with http:// or https:// or smtp:// or smtps://'],
    ['ftp://user:hunter2@mail.example.com', 'AUTH_MAIL_URL must begin with http:// or https:// or smtp:// or smtps://'],
    [
      'https://user:hunter2@mail.example.com',
      'AUTH_MAIL_URL must not hold a user or a password with http: put a secret into its path',
    ],
    [
      'smtp://user:hunter2@mail.example.com/inbox',
      'AUTH_MAIL_URL must end after the port, such as smtp://user:password@mail.example.com:587',
    ],
    ['smtp://user:hunter2@mail.example.com?tls=no', 'AUTH_MAIL_URL may only end in ?tls=off, and only with smtp://'],
    ['smtps://user:hunter2@10.0.0.1?tls=off', 'AUTH_MAIL_URL may only end in ?tls=off, and only with smtp://'],
    [
      'smtp://user:hunter2@93.184.215.14?tls=off',
      'AUTH_MAIL_URL may only turn TLS off for a private address: remove ?tls=off',
    ],
    [
      'smtp://user@mail.example.com',
      'AUTH_MAIL_URL must hold a user and a password, or neither; write special characters as %40 for @',
    ],
    [
      'smtp://user:hunter2%0d%0aQUIT@mail.example.com',
      'AUTH_MAIL_URL must hold a user and a password, or neither; write special characters as %40 for @',
    ],
  ];
  for (const [url, message] of cases) assert.throws(() => read(url), { message }, url);
});

test('a mail server needs a sender', () => {
  assert.throws(() => read('smtp://mail.example.com', ''), {
    message: 'MAIL_FROM is not set, but AUTH_MAIL_URL is a mail server: set it, such as platform@example.com',
  });
  assert.deepEqual(read('', 'Our Platform <no-reply@example.com>').from, {
    name: 'Our Platform',
    address: 'no-reply@example.com',
  });
  for (const from of ['nobody', 'a@b, c@d', 'A <a@b> <c@d>', 'A <a@b\r\nBcc: c@d>', 'A\r\nBcc: c@d <a@b>', '"A" <a@b>'])
    assert.throws(() => read('', from), {
      message: 'MAIL_FROM must be an email address, such as platform@example.com or Platform <platform@example.com>',
    });
});

test('an address is one address', () => {
  for (const address of ['ada@example.com', 'ada+tag@example.com', 'jürgen@müller.example', "o'hara@example.com"])
    assert.equal(isMailAddress(address), true, address);
  for (const address of [
    '',
    'ada',
    'ada@',
    'a@b@c',
    'a@b,c@d',
    'a@b;c@d',
    'Ada <a@b>',
    'a@b\r\nBcc: c@d',
    'a@b\u0000',
    '"a b"@c',
    `${'a'.repeat(250)}@b.example`,
  ])
    assert.equal(isMailAddress(address), false, address);
});
