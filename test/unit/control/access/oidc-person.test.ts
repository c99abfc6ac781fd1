// What is read of a person at an OpenID Connect provider, from an ID token and userinfo.
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { personFrom } from '#control/access/oidc/person.ts';

const idToken = { iss: 'https://login.example.com', sub: 'u-7' };

test('what an ID token leaves out is taken from userinfo, and what neither says is nothing', () => {
  assert.deepEqual(personFrom(idToken, {}, 'groups'), {
    issuer: 'https://login.example.com/',
    subject: 'u-7',
    username: null,
    name: '',
    email: null,
    isEmailVerified: false,
    avatarUrl: null,
    groups: [],
  });
  const userinfo = {
    sub: 'u-7',
    preferred_username: ' gra\u0000ce\n',
    name: 'G'.repeat(300),
    email: 'grace@example.com',
    email_verified: true,
    picture: 'https://login.example.com/grace.png',
    'https://acme.example/roles': ['staff', 'x'.repeat(201)],
  };
  const person = personFrom({ ...idToken, name: 'Grace' }, userinfo, 'https://acme.example/roles');
  assert.deepEqual(person, {
    issuer: 'https://login.example.com/',
    subject: 'u-7',
    username: 'grace',
    name: 'Grace',
    email: 'grace@example.com',
    isEmailVerified: true,
    avatarUrl: 'https://login.example.com/grace.png',
    groups: ['staff'],
  });
  assert.equal(personFrom(idToken, { ...userinfo, name: 'G'.repeat(300) }, 'x').name.length, 200);
});

test('one source does not confirm the address of the other', () => {
  const { email, isEmailVerified } = personFrom(
    { ...idToken, email: 'boss@example.com' },
    { email: 'eve@example.com', email_verified: true },
    'groups',
  );
  assert.deepEqual([email, isEmailVerified], ['boss@example.com', false]);
});

test('texts that are no addresses, pictures or names count as missing', () => {
  for (const email of [
    'grace',
    'a b@example.com',
    '@example.com',
    'a\u0000@example.com',
    7,
    `${'x'.repeat(320)}@example.com`,
  ]) {
    const person = personFrom({ ...idToken, email, email_verified: true }, {}, 'groups');
    assert.deepEqual([person.email, person.isEmailVerified], [null, false], String(email));
  }
  const odd = { ...idToken, picture: 'javascript:alert(1)', preferred_username: { a: 1 }, name: ['x'] };
  const { avatarUrl, username, name } = personFrom(odd, {}, 'groups');
  assert.deepEqual([avatarUrl, username, name], [null, null, '']);
});
