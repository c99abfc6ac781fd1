import assert from 'node:assert/strict';
import { test } from 'node:test';
import {
  failed,
  FAILURE_CODES,
  failureResponse,
  ok,
  outcomeLabel,
  outcomeLevel,
} from '#runtime/engine/invocation/outcome.ts';

test('a failure answers JSON with its code, and names the code in a header', () => {
  const { status, headerBlock, body } = failureResponse(failed('cpu_limit_exceeded', { limitMs: 50, usedMs: 61 }));
  assert.equal(status, 500);
  assert.deepEqual(JSON.parse(body), {
    error: 'CPU limit exceeded',
    code: 'cpu_limit_exceeded',
    limitMs: 50,
    usedMs: 61,
  });
  assert.ok(headerBlock.includes('x-platform-error\0cpu_limit_exceeded\0'));
});

test('what a worker threw is not shown to its visitors', () => {
  const { body } = failureResponse(failed('worker_threw', { reason: 'password is hunter2' }));
  assert.deepEqual(JSON.parse(body), { error: 'The worker threw', code: 'worker_threw' });
});

test('a 503 says when to come back', () => {
  assert.ok(
    failureResponse(failed('overloaded', { waiting: 1, limit: 1 })).headerBlock.includes('retry-after\u00001\u0000'),
  );
});

test('label and level derive from the outcome', () => {
  assert.equal(outcomeLabel(ok), 'ok');
  assert.equal(outcomeLevel(ok), 'debug');
  assert.equal(outcomeLabel(failed('worker_threw')), 'worker_threw');
  assert.equal(outcomeLevel(failed('worker_threw')), 'warn');
  assert.equal(outcomeLevel(failed('internal')), 'error');
  assert.equal(outcomeLevel(failed('client_gone')), 'debug');
});

test('every failure has a response that parses', () => {
  for (const code of FAILURE_CODES) {
    const { status, body } = failureResponse(failed(code));
    assert.ok(status >= 400, code);
    assert.equal((JSON.parse(body) as { code: string }).code, code);
  }
});
