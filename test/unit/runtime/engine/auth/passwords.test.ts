// Passwords of apps' users: their form and cost are better-auth's, so that an app can leave with its users.
import assert from 'node:assert/strict';
import { after, test } from 'node:test';
import { verifyPassword } from 'better-auth/crypto';
import { createPasswords } from '#runtime/engine/auth/passwords.ts';
import { HostWork } from '#runtime/engine/work/host-work.ts';

const work = new HostWork();
after(() => work.close());

test('a password is hashed at the cost that better-auth has by itself, unless another is given', async () => {
  const password = 'lovelace1';
  const hash = await createPasswords(work, { waiting: 0 }).hash(password);
  assert.equal(await verifyPassword({ hash, password }), true);
  assert.equal(await verifyPassword({ hash, password: 'lovelace2' }), false);
  const cheap = createPasswords(work, { waiting: 0 }, 128);
  const other = await cheap.hash(password);
  assert.equal(await verifyPassword({ hash: other, password }), false);
  assert.equal(await cheap.verify({ hash: other, password }), true);
});

test('more passwords than may wait for a project are refused, and the next one is hashed again', async () => {
  const queue = { waiting: 50 };
  const passwords = createPasswords(work, queue, 128);
  await assert.rejects(passwords.hash('a'), { message: 'Too many passwords are waiting', statusCode: 429 });
  queue.waiting--;
  await passwords.hash('a');
  assert.equal(queue.waiting, 49);
});
