// Where a sandbox service beside an API finds the AI gateway.
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { apiAiUrl } from '#runtime/supervisor/services/sandbox-service.ts';

test('sandboxes reach the API of their machine where it listens', () => {
  assert.equal(apiAiUrl({ API_PORT: '4002' }), 'http://127.0.0.1:4002/ai');
  assert.equal(apiAiUrl({ API_PORT: '4002', API_HOST: '0.0.0.0' }), 'http://127.0.0.1:4002/ai');
  assert.equal(apiAiUrl({ API_PORT: ' 80 ', API_HOST: '10.0.0.5' }), 'http://10.0.0.5:80/ai');
  assert.equal(apiAiUrl({ API_PORT: '4002', API_HOST: 'fd00::1' }), 'http://[fd00::1]:4002/ai');
  for (const API_PORT of [undefined, '', 'off', '0']) assert.equal(apiAiUrl({ API_PORT }), null);
});
