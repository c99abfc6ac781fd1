// Folders that import each other.
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { formatFinding } from '#test/tidy/findings.ts';
import { pairFindings } from '#test/tidy/pair-rules.ts';

const sources = {
  'git/clone.ts': "import { open } from './host/open.ts';\n",
  'git/address.ts': 'export type Address = string;\n',
  'git/host/open.ts': "import type { Address } from '../address.ts';\n",
  'test/git/x.ts': "import '../x.ts';\n",
  'test/x.ts': "import './git/x.ts';\n",
};

test('a pair that is not listed is a finding, types and dynamic imports included', () => {
  const message = 'git and git/host import each other: move what both need to the lower folder';
  assert.deepEqual(pairFindings(sources, []).map(formatFinding), [message]);
  const lazy = { ...sources, 'git/clone.ts': "await import('./host/open.ts');\n" };
  assert.deepEqual(pairFindings(lazy, []).map(formatFinding), [message]);
});

test('a listed pair is allowed, and a row without a pair is a finding', () => {
  assert.deepEqual(pairFindings(sources, ['git -> git/host']), []);
  assert.deepEqual(pairFindings(sources, ['git -> git/host', 'web -> web/serve']).map(formatFinding), [
    'test/tidy/pair-rules.ts lists web -> web/serve, which is not a pair: remove that',
  ]);
});
