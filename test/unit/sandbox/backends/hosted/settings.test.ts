import assert from 'node:assert/strict';
import { test } from 'node:test';
import { hostedSettings } from '#sandbox/backends/hosted/settings.ts';

const given = {
  HOSTED_API_KEY: 'the-key',
  HOSTED_ORG: 'acme',
  HOSTED_BASE_URL: 'https://api.provider.example/',
  SANDBOX_AI_URL: 'https://api.example.com/ai/',
};

test('what is left out has its default', () => {
  assert.deepEqual(hostedSettings(given), {
    baseUrl: 'https://api.provider.example',
    apiKey: 'the-key',
    organization: 'acme',
    template: null,
    snapshotId: null,
    builds: null,
    machineType: 'default',
    ttlSeconds: 86_400,
    requiresScopedKey: false,
    aiUrl: 'https://api.example.com/ai',
  });
});

test('all that is missing is named at once', () => {
  assert.throws(() => hostedSettings({}), {
    message: 'SANDBOX_PROVIDER=hosted needs HOSTED_API_KEY, HOSTED_ORG, HOSTED_BASE_URL, SANDBOX_AI_URL',
  });
});

for (const [name, value, message] of [
  ['HOSTED_BASE_URL', 'http://api.provider.example', /HOSTED_BASE_URL must be an https address/],
  ['HOSTED_BASE_URL', 'https://user:pass@api.provider.example', /but is "https:\/\/\.\.\.@api\.provider\.example"/],
  ['SANDBOX_AI_URL', 'http://api.example.com/ai', /SANDBOX_AI_URL must be the public https address/],
  ['SANDBOX_AI_URL', 'https://localhost/ai', /SANDBOX_AI_URL must be/],
  ['SANDBOX_AI_URL', 'https://api:4002/ai', /SANDBOX_AI_URL must be/],
  ['SANDBOX_AI_URL', 'https://platform.internal/ai', /SANDBOX_AI_URL must be/],
  ['SANDBOX_AI_URL', 'https://10.0.0.5/ai', /SANDBOX_AI_URL must be/],
  ['SANDBOX_AI_URL', 'https://[::1]/ai', /SANDBOX_AI_URL must be/],
  ['HOSTED_MACHINE_TYPE', 'xlarge', /HOSTED_MACHINE_TYPE is "xlarge": it must be one of small, default, large/],
  ['HOSTED_TTL_SECONDS', '-1', /HOSTED_TTL_SECONDS must be a whole number from 0 to 2592000, but is "-1"/],
  ['HOSTED_REQUIRE_SCOPED_KEY', 'yes', /HOSTED_REQUIRE_SCOPED_KEY is "yes": it must be true or false/],
  ['HOSTED_TEMPLATE_SNAPSHOT_ID', 's1', /HOSTED_TEMPLATE_SNAPSHOT_ID pins a template: set HOSTED_TEMPLATE/],
] as const)
  test(`${name} may not be ${value}`, () => {
    assert.throws(
      () => hostedSettings({ ...given, [name]: value }),
      (error: Error) => {
        assert.match(error.message, message);
        assert.doesNotMatch(error.message, /the-key|pass@/);
        return true;
      },
    );
  });
