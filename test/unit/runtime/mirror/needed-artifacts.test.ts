// runtime/mirror/needed-artifacts.ts: artifacts that a route record requires.
import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { RouteRecord } from '#core/manifest.ts';
import { neededArtifacts } from '#runtime/mirror/needed-artifacts.ts';

const recordOf = (ids: readonly string[], more: Partial<RouteRecord> = {}): RouteRecord => ({
  version: 1,
  project: 'shop',
  plan: 'free',
  vars: {},
  domains: [],
  production: null,
  branches: {},
  deployments: Object.fromEntries(
    ids.map((id) => [
      id,
      { id, artifact: `of ${id}`, branch: 'main', createdAt: `2026-11-${id.slice(1)}T00:00:00.000Z` },
    ]),
  ),
  ...more,
});
const shown = (record: RouteRecord, before: RouteRecord | null): (string[] | undefined)[] => {
  const { first, later } = neededArtifacts(record, before);
  return [[...first].toSorted(), [...later].toSorted()];
};

test('what a URL leads to comes first, and what is new; the rest comes later', () => {
  const record = recordOf(['d10', 'd11', 'd12', 'd13'], {
    production: 'd10',
    split: { deployment: 'd11', percent: 5 },
    branches: { main: 'd10' },
  });
  assert.deepEqual(shown(record, recordOf(['d10', 'd11', 'd12'])), [['of d10', 'of d11', 'of d13'], ['of d12']]);
});

test('of a project that is new here, the newest deployments come first: one may be in its release', () => {
  const record = recordOf(['d10', 'd11', 'd12', 'd13', 'd14'], { production: 'd10' });
  assert.deepEqual(shown(record, null), [['of d10', 'of d12', 'of d13', 'of d14'], ['of d11']]);
});
