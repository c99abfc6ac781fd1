// The contract of sandboxes over agents in this process, which tests of the API and of commands take for machines.
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { testSandboxBackend } from '#test/contract/sandbox.ts';
import { createSandboxesHere } from '#test/setup/sandboxes-here.ts';

testSandboxBackend('agents in this process', async () => {
  const folder = mkdtempSync(path.join(tmpdir(), 'sandboxes-test-'));
  const backend = createSandboxesHere(path.join(folder, 'boxes'), process.env);
  return {
    backend,
    offers: { sizes: null, image: null, egress: null, copies: true },
    async close() {
      await backend.close();
      rmSync(folder, { recursive: true });
    },
  };
});
