// Rows as the API shows them: the fields of a schema and nothing else.
import assert from 'node:assert/strict';
import { test } from 'node:test';
import Type from '#core/typebox/typebox.mjs';
import { nullable } from '#control/http/schemas.ts';
import { viewOf } from '#control/http/view.ts';

const Hook = Type.Object({
  id: Type.String(),
  projectId: nullable(Type.String()),
  createdAt: Type.String(),
  isPrivate: Type.Boolean(),
  state: Type.Enum(['on', 'off']),
});

test('a row becomes the fields of the schema, without its other columns', () => {
  const toHook = viewOf(Hook, { state: ({ enabled }: { readonly enabled: boolean }) => (enabled ? 'on' : 'off') });
  const row = {
    id: 'hok_1',
    project_id: null,
    created_at: new Date('2026-11-23T08:30:00.123Z'),
    is_private: false,
    enabled: true,
    secret: 'hush',
  };
  assert.deepEqual(toHook(row), {
    id: 'hok_1',
    projectId: null,
    createdAt: '2026-11-23T08:30:00.123Z',
    isPrivate: false,
    state: 'on',
  });
});
