// The contract of sandboxes over processes of this machine.
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { createLocalBackend } from '#runtime/sandbox/backends/local/local.ts';
import { testSandboxBackend } from './sandbox.ts';

testSandboxBackend('local processes', async () => {
  const folder = mkdtempSync(path.join(tmpdir(), 'sandboxes-test-'));
  const backend = createLocalBackend({
    folder: path.join(folder, 'boxes'),
    environment: process.env,
    why: '',
    warn: () => {},
  });
  return {
    backend,
    offers: { sizes: null, image: null, egress: null, copies: true },
    async close() {
      await backend.close();
      rmSync(folder, { recursive: true });
    },
  };
});
