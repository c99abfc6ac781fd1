// Which requests the dashboard of `platform dev` answers.
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { objectionTo } from '#runtime/dev/dashboard/guard.ts';
import { createSeededRandom } from '#test/setup/seeded-random.ts';

const asking = {
  host: 'localhost:4000',
  origin: undefined,
  site: undefined,
  mode: undefined,
  localAddress: '127.0.0.1',
};

test('names of this machine are answered, with any port and in any case', () => {
  for (const host of ['localhost', 'localhost:4000', 'LOCALHOST:5000', '127.0.0.1:4000', '[::1]:4000', 'dev.box:4000'])
    assert.equal(objectionTo({ ...asking, host }, 'dev.box'), null, host);
  assert.equal(
    objectionTo({ ...asking, host: '192.168.1.5:4000', localAddress: '::ffff:192.168.1.5' }, '0.0.0.0'),
    null,
  );
  assert.equal(objectionTo({ ...asking, host: '[fe80::1]:4000', localAddress: 'fe80::1' }, '::'), null);
});

test('any other name is refused, as that of a page that made it point here', () => {
  for (const host of [
    'evil.example',
    'localhost.evil.example',
    '127.0.0.1.evil.example:4000',
    '10.0.0.1',
    'local host',
    '',
    'localhost:4000@evil',
    '[::1',
  ])
    assert.notEqual(objectionTo({ ...asking, host }, 'localhost'), null, host);
  assert.equal(objectionTo({ ...asking, host: undefined }, 'localhost'), 'it has no valid Host');
});

test('a page of another origin is refused, also one of this machine on another port', () => {
  for (const origin of [
    'http://evil.example',
    'http://localhost:3000',
    'https://localhost:4000',
    'http://localhost',
    'null',
    '',
  ])
    assert.equal(objectionTo({ ...asking, origin }, 'localhost'), 'it comes from another origin', origin);
  assert.equal(objectionTo({ ...asking, origin: 'http://localhost:4000' }, 'localhost'), null);
});

test('another site may link here, and nothing else', () => {
  assert.equal(
    objectionTo({ ...asking, site: 'cross-site', mode: 'no-cors' }, 'localhost'),
    'it comes from another site',
  );
  assert.equal(objectionTo({ ...asking, site: 'cross-site', mode: 'navigate' }, 'localhost'), null);
  assert.equal(objectionTo({ ...asking, site: 'same-origin', mode: 'cors' }, 'localhost'), null);
});

test('no host made of pieces passes unless its name is one of this machine', () => {
  const random = createSeededRandom();
  for (let round = 0; round < 5000; round++) {
    const host = random.text(
      ['localhost', '127.0.0.1', '[::1]', ':', '4000', '.', 'evil', '@', '/', '\0', ' ', '%', '[', ']', 'ü'],
      5,
    );
    const passes = objectionTo({ ...asking, host }, 'localhost') === null;
    assert.equal(
      passes,
      /^(?:localhost|127\.0\.0\.1|\[::1\])(?::\d{1,5})?$/.test(host),
      `seed ${random.seed}: ${JSON.stringify(host)}`,
    );
  }
});
