// Codes of authenticator apps.
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { base32, codeOf, stepOf } from '#control/access/totp.ts';

/** The secret of RFC 6238, appendix B. */
const secret = Buffer.from('12345678901234567890');

test('codes are those of RFC 6238', () => {
  const codes: [seconds: number, code: string][] = [
    [59, '287082'],
    [1_111_111_109, '081804'],
    [1_234_567_890, '005924'],
    [20_000_000_000, '353130'],
  ];
  for (const [seconds, code] of codes) assert.equal(codeOf(secret, Math.floor(seconds / 30)), code);
});

test('a code is accepted in its period and the ones beside it', () => {
  const step = 37_037_036;
  const at = (later: number): number | null => stepOf(secret, '081804', (step + later) * 30_000);
  assert.deepEqual([at(-2), at(-1), at(0), at(1), at(2)], [null, step, step, step, null]);
  for (const code of ['', '08180', '0818041', 'abcdef', '08180４'])
    assert.equal(stepOf(secret, code, step * 30_000), null);
});

test('secrets are shown in base32 of RFC 4648', () => {
  assert.equal(base32(Buffer.from('foobar')), 'MZXW6YTBOI');
  assert.equal(base32(Buffer.from('f')), 'MY');
  assert.equal(base32(secret), 'GEZDGNBVGY3TQOJQGEZDGNBVGY3TQOJQ');
});
