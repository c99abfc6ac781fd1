// Tokens of sandboxes in memory: how long each is good.
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { createMemoryAiTokens } from '#sandbox/service/ai-tokens-memory.ts';

const MINUTE_MS = 60_000;

test('a token is good for an hour, and five minutes after the next one; all end when they are revoked', async () => {
  let at = 0;
  const tokens = createMemoryAiTokens(() => at);
  const first = (await tokens.issue('one'))!;
  const other = (await tokens.issue('two'))!;
  assert.match(first, /^pk_ai_ait[0-9a-z]{20}_[\w-]{43}$/);
  assert.deepEqual([tokens.isGood(first), tokens.isGood(`${first}x`), tokens.isGood('')], [true, false, false]);
  at = 45 * MINUTE_MS;
  const second = (await tokens.issue('one'))!;
  assert.deepEqual([tokens.isGood(first), tokens.isGood(second)], [true, true]);
  at = 50 * MINUTE_MS;
  assert.deepEqual([tokens.isGood(first), tokens.isGood(second)], [false, true]);
  await tokens.revoke('one');
  assert.deepEqual([tokens.isGood(second), tokens.isGood(other)], [false, true]);
  at = 60 * MINUTE_MS;
  assert.equal(tokens.isGood(other), false);
});
