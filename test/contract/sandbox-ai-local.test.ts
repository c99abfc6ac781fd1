// The AI gateway from processes of this machine, which reach the gateway of the test.
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { createLocalBackend } from '#sandbox/backends/local/local.ts';
import { testSandboxAi } from './sandbox-ai.ts';

testSandboxAi('this machine', async (aiUrl) => {
  const folder = mkdtempSync(path.join(tmpdir(), 'sandboxes-test-'));
  const backend = createLocalBackend({ folder, environment: process.env, aiUrl, warn: () => {} });
  return { backend, close: async () => rmSync(folder, { recursive: true, force: true }) };
});
