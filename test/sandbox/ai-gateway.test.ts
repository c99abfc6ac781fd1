// The AI gateway from containers, which have no network: through the service, at its own address and nowhere else.
import assert from 'node:assert/strict';
import { once } from 'node:events';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { test } from 'node:test';
import { askerOf } from '#test/contract/sandbox-asker.ts';
import { testSandboxAi } from '#test/contract/sandbox-ai.ts';
import { engineName, machine, openTestContainers } from '#test/setup/sandbox-containers.ts';

testSandboxAi(`containers of ${engineName}`, (aiUrl) => openTestContainers({ aiUrl }));

test(`${engineName}: of the gateway's server a container reaches what lies below its path, and nothing else`, async (t) => {
  const seen: string[] = [];
  const server = createServer((asked, answer) => {
    seen.push(`${asked.method} ${asked.url} ${asked.headers['x-forwarded-for'] ?? ''}${asked.headers.cookie ?? ''}`);
    answer.end('secret of the API');
  });
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  t.after(() => void server.close());
  const origin = `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
  const { backend, close } = await openTestContainers({ aiUrl: `${origin}/ai` });
  t.after(close);
  const spec = machine();
  await backend.create(spec);
  const box = askerOf(backend, spec.key);
  for (const path of ['/', '/v1/projects', '/aix', '/ai/../v1/projects', '/ai/%2e%2e/v1', '/ai//x', '/ai%2f..']) {
    const { stdout } = await box.exec(
      `curl -s --path-as-is -o /dev/null -w '%{http_code}' http://127.0.0.1:3129${path}`,
    );
    assert.equal(stdout, '403', path);
  }
  // Nor by its address, which is a private one.
  assert.doesNotMatch((await box.exec(`curl -s --noproxy '' ${origin}/ai/models`)).stdout, /secret of the API/);
  assert.deepEqual(seen, []);
  const asked = `curl -s -H 'x-forwarded-for: 10.0.0.1' -H 'cookie: a=b' '${backend.aiUrl}/models?a=1'`;
  assert.equal((await box.exec(asked)).stdout, 'secret of the API');
  assert.deepEqual(seen, ['GET /ai/models?a=1 ']);
});
