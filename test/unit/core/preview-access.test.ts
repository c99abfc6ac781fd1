// The password of previews and the bypass token, as settings keep them.
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { hashPreviewBypass, hashPreviewPassword, isPreviewBypass, isPreviewPassword } from '#core/preview-access.ts';

test('a password is known again, another one and a foreign form are not', async () => {
  const kept = await hashPreviewPassword('open sesame');
  assert.doesNotMatch(kept, /sesame/);
  assert.equal(await isPreviewPassword(kept, 'open sesame'), true);
  assert.equal(await isPreviewPassword(kept, 'Open sesame'), false);
  assert.equal(await isPreviewPassword('open sesame', 'open sesame'), false);
  assert.notEqual(await hashPreviewPassword('open sesame'), kept);
});

test('a bypass token is known again', () => {
  const kept = hashPreviewBypass('pvw_token');
  assert.equal(isPreviewBypass(kept, 'pvw_token'), true);
  assert.equal(isPreviewBypass(kept, 'pvw_other'), false);
  assert.equal(isPreviewBypass('', ''), false);
});
