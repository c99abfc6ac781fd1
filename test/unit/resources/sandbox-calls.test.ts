// Before a service that lies: what it answers is no error of ours.
import assert from 'node:assert/strict';
import { Readable } from 'node:stream';
import { text } from 'node:stream/consumers';
import { test } from 'node:test';
import { PlatformError } from '#core/errors.ts';
import { callSandbox, type SandboxRequest, type SandboxService } from '#resources/sandbox-calls.ts';

const place = { project: 'shop', resource: 'boxes~~login' };
const { signal } = new AbortController();
const answers = (statusCode: number, body: string): SandboxService & { readonly paths: string[] } => {
  const paths: string[] = [];
  return {
    paths,
    async request({ method, path }) {
      paths.push(`${method} ${path}`);
      return { statusCode, body: Readable.from([Buffer.from(body)]) };
    },
  };
};
const call = (service: SandboxService | null, request: SandboxRequest) => callSandbox(service, place, request, signal);
const exec = { operation: 'exec', sandbox: 'one', args: { command: 'true' } } as const;

test('without a service a call says which variables name it', async () => {
  await assert.rejects(call(null, exec), {
    code: 'binding_unavailable',
    message:
      'sandbox bindings are not available: no sandbox service is configured: set SANDBOX_URL and SANDBOX_AUTH_TOKEN',
  });
});

test('a call is asked for by project, resource and id', async () => {
  const service = answers(200, '{"a":1}');
  assert.equal(await text(await call(service, exec)), '{"a":1}');
  await call(service, { operation: 'list', args: { limit: 5, prefix: 'a', cursor: '' } });
  assert.deepEqual(service.paths, [
    'POST /v1/projects/shop/sandboxes/boxes~~login/one/exec',
    'GET /v1/projects/shop/sandboxes/boxes~~login?limit=5&prefix=a&cursor=',
  ]);
});

test('a refusal keeps its code and its words; what is none is a service that is away', async () => {
  const refused = (code: string): SandboxService => answers(404, JSON.stringify({ error: { code, message: 'No x' } }));
  await assert.rejects(call(refused('file_not_found'), exec), { code: 'file_not_found', message: 'No x' });
  // That our token is wrong is nothing for who asks.
  for (const service of [
    refused('sandbox_unauthorized'),
    refused('__proto__'),
    answers(502, '<html>'),
    answers(500, 'null'),
    answers(500, `{"error":{"code":"file_not_found","message":"${'x'.repeat(100_000)}"}}`),
  ])
    await assert.rejects(call(service, exec), { code: 'sandbox_unavailable' });
});

test('a connection that breaks may have had the call done', async () => {
  const fails = (error: Error): SandboxService => ({ request: () => Promise.reject(error) });
  await assert.rejects(call(fails(new Error('socket hang up')), exec), { code: 'sandbox_lost' });
  const unreached = new PlatformError('sandbox_unavailable', { reason: 'away' });
  await assert.rejects(call(fails(unreached), exec), { code: 'sandbox_unavailable' });
});

test('a path that a header cannot hold is refused', async () => {
  await assert.rejects(
    call(answers(200, ''), {
      operation: 'writeFile',
      sandbox: 'one',
      args: { path: 'ü'.repeat(9000) },
      bytes: Readable.from([]),
    }),
    { code: 'invalid_argument', message: /the limit is 49152/ },
  );
});
