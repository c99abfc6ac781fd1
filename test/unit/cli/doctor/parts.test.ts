// `platform doctor` in a container that runs some of the platform's parts.
import assert from 'node:assert/strict';
import { once } from 'node:events';
import { mkdtempSync, rmSync } from 'node:fs';
import { createServer, type Server } from 'node:http';
import type { AddressInfo } from 'node:net';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { test } from 'node:test';
import { run } from '#cli/main.ts';
import { recordingShell } from '../recording-shell.ts';

interface Told {
  readonly checks: readonly { readonly name: string; readonly status: string; readonly message: string }[];
}

async function listen(): Promise<{ server: Server; port: number }> {
  const server = createServer((_request, response) => response.end('{}')).listen(0, '127.0.0.1');
  await once(server, 'listening');
  return { server, port: (server.address() as AddressInfo).port };
}

test('in a container it says what runs there, and what elsewhere', async (t) => {
  const home = mkdtempSync(path.join(tmpdir(), 'platform-doctor-'));
  const [one, other] = [await listen(), await listen()];
  t.after(() => {
    one.server.close();
    other.server.close();
    rmSync(home, { recursive: true });
  });
  const doctor = async (environment: Record<string, string>): Promise<string[]> => {
    const shell = recordingShell(home, {
      PATH: process.env['PATH'] ?? '',
      PLATFORM_HOME: home,
      FS_PATH: path.join(home, 'data'),
      PUBLIC_HTTPS: 'on',
      HANDLER_PRIVATE_PORT: String(one.port),
      API_PORT: String(other.port),
      ...environment,
    });
    await run(['doctor', '--json'], shell);
    const { checks } = JSON.parse(shell.output[0]!) as Told;
    return checks
      .filter(({ name }) => ['ports', 'caddy', 'api'].includes(name))
      .map(({ name, status, message }) => `${status} ${name}: ${message}`);
  };
  assert.deepEqual(await doctor({ PLATFORM_PARTS: 'handler,api' }), [
    `ok ports: The parts handler, api run here, behind the private port ${one.port}`,
    'ok caddy: Certificates are issued by the edge, which runs elsewhere',
    `ok api: The API responds on port ${other.port}; \`platform login\` enables more checks`,
  ]);
  assert.equal(
    (await doctor({ PLATFORM_PARTS: 'handler' })).at(-1),
    'ok api: The control plane runs elsewhere: check the control plane with `platform doctor --api <url>`',
  );
  assert.deepEqual(
    (await doctor({ PLATFORM_PARTS: 'operator' })).filter((line) => line.includes('ports:')),
    ['ok ports: No part of the platform runs in this container'],
  );
  other.server.close();
  assert.equal(
    (await doctor({ PLATFORM_PARTS: 'api' })).at(-1),
    `fail api: The API does not respond on port ${other.port}`,
  );
});
