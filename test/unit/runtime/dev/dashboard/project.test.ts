// What of a project the dashboard answers without a store.
import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { DashboardRequest } from '#runtime/dev/dashboard/api.ts';
import { projectRoutes } from '#runtime/dev/dashboard/project.ts';

test('sandboxes are those of all bindings that the project declares', async () => {
  const [, , answer] = projectRoutes.find(([, path]) => path === '/api/sandboxes')!;
  const asked = (bindings: object): DashboardRequest =>
    ({
      deps: {
        current: () => ({ manifest: { bindings } }),
        sandboxesOf: async (resource: string) => [{ id: `of-${resource}`, state: 'running' }],
      },
    }) as unknown as DashboardRequest;
  assert.deepEqual(await answer(asked({ db: { DB: 'main' } })), { sandboxes: [] });
  assert.deepEqual(await answer(asked({ sandbox: { BOX: 'boxes', LAB: 'labs' } })), {
    sandboxes: [
      { binding: 'BOX', id: 'of-boxes', state: 'running' },
      { binding: 'LAB', id: 'of-labs', state: 'running' },
    ],
  });
});
