// What of a build's secrets its log may not show, in the forms that tools print them in.
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { createMasks } from '#builder/service/log/masks.ts';
import { createLineReader } from '#builder/service/log/lines.ts';
import { createSeededRandom } from '#test/setup/seeded-random.ts';

test('values, base64, hex, JSON and URL forms of a secret are replaced', () => {
  const secret = 'p&ss "wörd"/+42';
  const masks = createMasks([secret]);
  const shown = (text: string): string => masks.apply(text);
  assert.equal(shown(`token=${secret};`), 'token=***;');
  assert.equal(shown(Buffer.from(secret).toString('base64')), '***');
  assert.equal(shown(Buffer.from(`${secret}\n`).toString('base64')), '***');
  assert.equal(shown(Buffer.from(secret).toString('base64url')), '***');
  assert.equal(shown(Buffer.from(secret).toString('hex')), '***');
  assert.equal(shown(JSON.stringify({ secret })), '{"secret":"***"}');
  assert.equal(shown(`https://x/?q=${encodeURIComponent(secret)}&r=1`), 'https://x/?q=***&r=1');
  assert.equal(shown(new URLSearchParams({ q: secret }).toString()), 'q=***');
});

test('a secret inside of a text that is base64 is replaced at each place it can begin at', () => {
  const masks = createMasks(['hunter2-hunter2']);
  for (const before of ['', 'a', 'ab', 'abc', 'user:', 'x-access-token:'])
    for (const after of ['', 'z', 'zz']) {
      const text = Buffer.from(`${before}hunter2-hunter2${after}`).toString('base64');
      assert.match(masks.apply(text), /\*\*\*/, text);
    }
});

test('each line of a secret of several lines is replaced', () => {
  const key = '-----BEGIN KEY-----\nMIIEpAIBAAKCAQEA7\nq83nFZ0yV1aZ\n-----END KEY-----\n';
  const masks = createMasks([key]);
  for (const line of key.trim().split('\n')) assert.equal(masks.apply(`> ${line}`), '> ***');
});

test('short secrets are replaced where they stand alone', () => {
  const masks = createMasks(['42', '']);
  assert.equal(masks.apply('PIN=42 of 1420'), 'PIN=*** of 1420');
});

test('secrets that overlap are replaced as one', () => {
  assert.equal(createMasks(['abcdef', 'defghi']).apply('.abcdefghi.'), '.***.');
});

test('no chunks and no cut of a line show a secret, whatever it is made of', () => {
  const random = createSeededRandom();
  const pieces = ['a', 'Z', '0', '=', '+', '/', '%', ' ', '"', '\\', 'ö', '🔑', '$', '.', '*', '(', '-', 'key', '\t'];
  const rounds = Number(process.env['FUZZ_ROUNDS'] ?? 300);
  for (let round = 0; round < rounds; round++) {
    const secret = `${random.text(pieces, 20)}${random.below(10)}${random.text(pieces, 5)}Q`.trim();
    if (secret.length < 6) continue;
    const forms = [
      secret,
      Buffer.from(secret).toString('base64'),
      Buffer.from(`${secret}\n`).toString('base64'),
      Buffer.from(secret).toString('hex'),
      encodeURIComponent(secret),
      JSON.stringify(secret).slice(1, -1),
    ];
    const masks = createMasks([secret]);
    const reader = createLineReader(64, masks.charsMax, masks.apply);
    const bytes = Buffer.from(
      forms.map((form) => `${'.'.repeat(random.below(80))}${form}${random.pick(['', '!', '\u001b[0m'])}\n`).join(''),
    );
    const lines: string[] = [];
    for (let at = 0; at < bytes.length;) {
      const size = 1 + random.below(12);
      lines.push(...reader.push(bytes.subarray(at, at + size)));
      at += size;
    }
    lines.push(...reader.end());
    assert.equal(lines.length, forms.length, `seed ${random.seed}`);
    const controls = /\p{Cc}/gu;
    for (const form of forms)
      for (const line of lines) {
        const plain = form.replaceAll(controls, '');
        assert.ok(!line.includes(plain), `seed ${random.seed}: ${JSON.stringify(form)} in ${line}`);
        // A beginning of it before the cut would be a part of the secret.
        const cut = line.replace(/ \.\.\. \(line cut\)$/, '');
        assert.ok(
          cut === line || plain.length < 5 || !cut.endsWith(plain.slice(0, 5)),
          `seed ${random.seed}: ${JSON.stringify(form)} begins in ${line}`,
        );
      }
  }
});
