// Where engines find the sandbox service.
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { engineSandboxes } from '#runtime/supervisor/services/sandbox-access.ts';

const token = 'fa02c1d4e5b6978812345678deadbeef';

test('engines are told address and token, or nothing', () => {
  assert.deepEqual(engineSandboxes({}), {});
  assert.deepEqual(engineSandboxes({ SANDBOX_AUTH_TOKEN: token }), {});
  assert.deepEqual(engineSandboxes({ SANDBOX_URL: ' http://sandbox:4006/ ', SANDBOX_AUTH_TOKEN: token }), {
    ENGINE_SANDBOX_URL: 'http://sandbox:4006',
    ENGINE_SANDBOX_TOKEN: token,
  });
});

test('an address that is none, and a token that is missing or short, stop the start', () => {
  for (const url of [
    'sandbox:4006',
    'ftp://sandbox',
    'http://user:pass@sandbox:1',
    'http://sandbox/path',
    'http://a b',
  ])
    assert.throws(() => engineSandboxes({ SANDBOX_URL: url, SANDBOX_AUTH_TOKEN: token }), {
      message: 'SANDBOX_URL must be the address of the sandbox service, such as http://sandbox:4006',
    });
  for (const short of [undefined, '', 'x'.repeat(31)])
    assert.throws(
      () => engineSandboxes({ SANDBOX_URL: 'http://sandbox:4006', SANDBOX_AUTH_TOKEN: short }),
      (error: Error) => {
        assert.match(error.message, /^SANDBOX_AUTH_TOKEN must have at least 32 characters/);
        assert.ok(short === undefined || short === '' || !error.message.includes(short));
        return true;
      },
    );
});
