// Passwords of accounts: which are refused, and how they are kept.
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { ApiError } from '#control/http/errors.ts';
import { createPasswords } from '#control/access/passwords.ts';

const passwords = createPasswords(2);
const COMMON = 'This password is too common. Use several words, or a password manager.';

test('short, long, common and patterned passwords are refused, offline', async () => {
  const refused: Record<string, string> = {
    short: 'Use at least 10 characters.',
    ['ä'.repeat(9)]: 'Use at least 10 characters.',
    ['long '.repeat(26)]: 'Use at most 128 characters.',
    '7391824650': 'Use more than digits.',
    qwertyuiop: COMMON,
    Password123: COMMON,
    'P@ssw0rd2024': COMMON,
    '!!sunshine!!': COMMON,
    aaaaaaaaaaaa: COMMON,
    abcabcabcabc: COMMON,
    dragondragon: COMMON,
    'grace.hopper1': 'The password must not be your username.',
  };
  for (const [password, problem] of Object.entries(refused))
    assert.equal(await passwords.problemOf(password, 'grace.hopper'), problem, password);
});

test('words together, random letters and other scripts are accepted', async () => {
  for (const password of [
    'dragon-sunset-42-tea',
    'correct horse battery',
    'x7Kq9vT2mZ',
    'пароль из слов',
    '73918246507391824',
  ])
    assert.equal(await passwords.problemOf(password, 'grace'), null, password);
});

test('a hash has its own salt, and fits its password alone, in any form of its letters', async () => {
  const [one, other] = [await passwords.hash('caf\u00e9 au lait'), await passwords.hash('caf\u00e9 au lait')];
  assert.match(one, /^[0-9a-f]{32}:[0-9a-f]{128}$/);
  assert.notEqual(one, other);
  assert.equal(await passwords.verify('cafe\u0301 au lait', one), true);
  assert.equal(await passwords.verify('cafe au lait', one), false);
  assert.equal(await passwords.verify('caf\u00e9 au lait', null), false);
});

test('few are hashed at a time, and more than so many waiting are refused', async () => {
  const results = await Promise.allSettled(Array.from({ length: 60 }, () => passwords.hash('caf\u00e9 au lait')));
  const refused = results.flatMap((result) => (result.status === 'rejected' ? [result.reason as ApiError] : []));
  assert.equal(refused.length, 8);
  assert.equal(refused[0]!.status, 503);
  assert.match(await passwords.hash('again and again'), /^[0-9a-f]{32}:/);
});
