// What of a project the dashboard answers without a store.
import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { Asked } from '#runtime/dev/dashboard/api.ts';
import { projectRoutes } from '#runtime/dev/dashboard/project.ts';

test('a project that declares no sandbox has none, and of one that does it is said that they are not there', () => {
  const [, , answer] = projectRoutes.find(([, path]) => path === '/api/sandboxes')!;
  const asked = (bindings: object): Asked =>
    ({ parts: { current: () => ({ manifest: { bindings } }) } }) as unknown as Asked;
  assert.deepEqual(answer(asked({ db: { DB: 'main' } })), { sandboxes: [] });
  assert.throws(() => answer(asked({ sandbox: { BOX: 'boxes' } })), { code: 'not_supported' });
});
