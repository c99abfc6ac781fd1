// Reports of a build's own process, which code of tenants can forge.
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { makeArtifact } from '#builder/steps/make-artifact.ts';
import type { Fence, FencedCommand } from '#builder/steps/fence.ts';
import type { BuildRequest } from '#builder/steps/types.ts';

const plan = { root: '/work', workspace: '/work', config: { build: null } } as never;
const tools = { env: {}, readable: [], cache: null };
const program = { node: ['node'], script: 'child.ts', env: {} };
const request = { limits: { diskBytesMax: 1000 }, variables: {}, onLine() {}, onStep() {}, onOutput() {} };

/** Ends a build whose process reports these lines. */
function reported(...lines: readonly object[]): Promise<string> {
  const fence = {
    folders: { artifact: '/artifact' },
    run(command: FencedCommand) {
      for (const line of lines) command.onReport?.(Buffer.from(`${JSON.stringify(line)}\n`));
      return Promise.resolve({ code: 1, signal: null, stdout: '', stderr: '' });
    },
  };
  return makeArtifact(request as unknown as BuildRequest, plan, fence as unknown as Fence, { tools, program });
}

test('a failure has a known reason, whatever its code', async () => {
  const reasons = {
    too_large: 'artifact_too_large',
    not_supported: 'not_supported',
    assets: 'build_failed',
    constructor: 'build_failed',
    ['__proto__']: 'build_failed',
  };
  for (const [code, reason] of Object.entries(reasons))
    await assert.rejects(reported({ what: 'failed', code, message: 'no luck' }), { reason, message: 'no luck' });
});
