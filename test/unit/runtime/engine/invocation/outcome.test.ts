import assert from 'node:assert/strict';
import { test } from 'node:test';
import {
  failed,
  FAILURE_CODES,
  failureResponse,
  isFailure,
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

test('label and level derive from the outcome, and a status of 5xx is a warning', () => {
  assert.equal(outcomeLabel(ok), 'ok');
  assert.equal(outcomeLevel(ok, 404), 'debug');
  assert.equal(outcomeLevel(ok, 503), 'warn');
  assert.equal(outcomeLabel(failed('worker_threw')), 'worker_threw');
  assert.equal(outcomeLevel(failed('worker_threw'), 500), 'warn');
  assert.equal(outcomeLevel(failed('internal'), 500), 'error');
  assert.equal(outcomeLevel(failed('client_gone'), 499), 'debug');
});

test('an invocation failed if its outcome or its status says so', () => {
  assert.deepEqual(
    [isFailure(ok, 200), isFailure(ok, 499), isFailure(ok, 0), isFailure(ok, 500), isFailure(failed('internal'), 200)],
    [false, false, false, true, true],
  );
});

test('every failure has a response that parses', () => {
  for (const code of FAILURE_CODES) {
    const { status, body } = failureResponse(failed(code));
    assert.ok(status >= 400, code);
    assert.equal((JSON.parse(body) as { code: string }).code, code);
  }
});
