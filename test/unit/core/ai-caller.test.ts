import assert from 'node:assert/strict';
import { test } from 'node:test';
import { decodeCaller, encodeCaller, type AiCaller } from '#core/ai-caller.ts';

const caller: AiCaller = {
  kind: 'agent',
  organizationId: 'acme',
  projectId: 'shop',
  deploymentId: 'd000000000001',
  branch: 'größer/besser',
  plan: 'pro',
  runId: 'run-1',
};

test('a caller comes out of the header as it went in', () => {
  assert.match(encodeCaller(caller), /^[A-Za-z0-9_-]+$/);
  assert.deepEqual(decodeCaller(encodeCaller(caller)), caller);
  const key: AiCaller = { ...caller, kind: 'key', projectId: null, deploymentId: null, branch: null, runId: null };
  assert.deepEqual(decodeCaller(encodeCaller(key)), key);
});

test('what is no caller is none', () => {
  const header = (value: unknown): string => Buffer.from(JSON.stringify(value)).toString('base64url');
  const { runId: _, ...withoutRun } = caller;
  const wrong: unknown[] = [
    null,
    'acme',
    [],
    withoutRun,
    { ...caller, kind: 'operator' },
    { ...caller, plan: 'gold' },
    { ...caller, organizationId: '' },
    { ...caller, organizationId: null },
    { ...caller, projectId: 7 },
    { ...caller, branch: 'x'.repeat(1025) },
  ];
  for (const value of wrong) assert.equal(decodeCaller(header(value)), null, JSON.stringify(value)?.slice(0, 100));
  for (const text of ['', '!', 'eyJ', Buffer.from('{').toString('base64url'), 'A'.repeat(8193)])
    assert.equal(decodeCaller(text), null, text.slice(0, 20));
  // What it does not know it does not pass on.
  assert.deepEqual(decodeCaller(header({ ...caller, isAdmin: true })), caller);
});
