// The page and the JSON that `platform dev` answers with.
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { failureAnswer, type ShownFailure } from '#runtime/dev/failures/failure-page.ts';
import { failed, failureResponse } from '#runtime/engine/invocation/outcome.ts';

const hostile = `"'><script>alert(1)</script>&</style>`;
const failure: ShownFailure = {
  plain: failureResponse(failed('overloaded', { waiting: 2, limit: 1 })),
  title: hostile,
  errors: [
    {
      name: hostile,
      message: hostile,
      file: hostile,
      line: 1,
      column: 2,
      frame: `> 1 | ${hostile}`,
      stack: hostile,
      advice: hostile,
    },
  ],
  note: hostile,
  reload: { path: `/${hostile}`, version: hostile },
};

test('nothing that is shown can become markup or script of the page', () => {
  const { status, headerBlock, body } = failureAnswer(failure, 'text/html');
  assert.equal(status, 503);
  assert.ok(headerBlock.startsWith('content-type\0text/html;charset=utf-8\0'));
  assert.ok(headerBlock.includes('\0retry-after\x001\0'));
  const [, nonce] = /script-src 'nonce-([^']+)'/.exec(headerBlock)!;
  assert.deepEqual(body.match(/<script[^>]*>/g), [`<script nonce="${nonce}">`]);
  assert.deepEqual(body.match(/<\/(?:script|style)>/g), ['</style>', '</script>']);
  assert.ok(!failureAnswer(failure, 'text/html').headerBlock.includes(nonce!), 'another page has another nonce');
});

test('what does not ask for HTML gets JSON, with the fields that visitors see and those of the first error', () => {
  for (const accept of [null, '*/*', 'application/json']) {
    const { headerBlock, body } = failureAnswer(
      { ...failure, title: 'Full', errors: [{ message: 'why' }, { message: 'and why' }] },
      accept,
    );
    assert.ok(headerBlock.startsWith('content-type\0application/json\0'));
    assert.deepEqual(JSON.parse(body), {
      error: 'Full: why',
      code: 'overloaded',
      waiting: 2,
      limit: 1,
      message: 'why',
      errors: [{ message: 'why' }, { message: 'and why' }],
    });
  }
  assert.deepEqual(JSON.parse(failureAnswer({ ...failure, title: 'Full', errors: [] }, null).body), {
    error: 'Full',
    code: 'overloaded',
    waiting: 2,
    limit: 1,
  });
});
