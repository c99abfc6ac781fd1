// What the query of an authorization may be: whatever comes, an answer is sent to this machine's loopback port alone.
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { clientName, isLoopbackRedirect, plainUserCode, readCodeRequest } from '#control/sign-in/grants.ts';
import { isFailure } from '#core/failure.ts';
import { createSeededRandom } from '#test/setup/seeded-random.ts';

const ROUNDS = Number(process.env['FUZZ_ROUNDS'] ?? 3000);

test('whatever the query holds, an answer goes to the loopback port or nowhere', () => {
  const random = createSeededRandom();
  const values = [
    'code',
    'platform-cli',
    'S256',
    'A'.repeat(43),
    'state-1234',
    '',
    '\0',
    '%0d%0a',
    'x'.repeat(600),
    '<b>',
  ];
  const places = [
    'http://127.0.0.1:9876/callback',
    'http://[::1]:1/callback',
    'http://127.0.0.1:9876/callback\nhttps://evil.example',
    'https://evil.example/callback',
    'http://127.0.0.1:9876@evil.example/callback',
    'http://127.0.0.1:0/callback',
    'http://127.0.0.1:70000/callback',
    'http://127.0.0.1:9876/callback#',
    'HTTP://127.0.0.1:9876/callback',
  ];
  const names = ['response_type', 'client_id', 'state', 'code_challenge', 'code_challenge_method', 'name'];
  const good: Record<string, string> = {
    response_type: 'code',
    client_id: 'platform-cli',
    state: 'state-1234',
    code_challenge: 'A'.repeat(43),
    code_challenge_method: 'S256',
    name: 'x',
  };
  const seen = { request: 0, back: 0, refused: 0 };
  for (let round = 0; round < ROUNDS; round++) {
    const query = new URLSearchParams({ redirect_uri: random.pick(places) });
    for (const name of names) query.set(name, random.below(4) > 0 ? good[name]! : random.pick(values));
    if (random.below(8) === 0) query.append(random.pick([...names, 'redirect_uri']), random.pick(values));
    const where = `seed ${random.seed}: ${query}`;
    try {
      const asked = readCodeRequest(query);
      const target = new URL('error' in asked ? asked.back : asked.redirectUri);
      assert.ok(['127.0.0.1', '[::1]'].includes(target.hostname), where);
      assert.deepEqual([target.protocol, target.pathname, target.username], ['http:', '/callback', ''], where);
      seen['error' in asked ? 'back' : 'request']++;
    } catch (error) {
      assert.ok(isFailure(error, 'oauth'), where);
      seen.refused++;
    }
  }
  assert.ok(Math.min(...Object.values(seen)) > 0, JSON.stringify(seen));
});

test('a redirect to a port that is none is refused', () => {
  assert.equal(isLoopbackRedirect('http://127.0.0.1:65535/callback'), true);
  assert.equal(isLoopbackRedirect('http://127.0.0.1:65536/callback'), false);
});

test('what a program calls itself is shown as plain text, and a typed code as it was meant', () => {
  assert.equal(clientName('Command line on <script>laptop.local'), 'Command line on scriptlaptop.local');
  assert.equal(clientName('\u202e\0'), 'Command line');
  assert.equal(clientName('x'.repeat(200)).length, 64);
  assert.equal(plainUserCode(' bcdf ghjk '), 'BCDFGHJK');
  for (const typed of ['', 'BCDF', 'BCDF-GHJKL', 'AEIO-UAEI', 'x'.repeat(1000)])
    assert.equal(plainUserCode(typed), null);
});
