import assert from 'node:assert/strict';
import { test } from 'node:test';
import { formatFinding } from '#test/tidy/findings.ts';
import { errorFindings } from '#test/tidy/error-rules.ts';

const found = (sources: Readonly<Record<string, string>>): string[] => errorFindings(sources).map(formatFinding);

test('a code has one row, and is used', () => {
  assert.deepEqual(
    found({
      'core/errors/a.ts': 'export const a = {\n  lost: { status: 500 },\n  gone: { status: 404 },\n};\n',
      'core/errors/b.ts': 'export const b = {\n  lost: { status: 503 },\n};\n',
      'runtime/x.ts': "throw new PlatformError('lost');\n",
    }),
    [
      'core/errors/a.ts:3 has gone, which nothing uses: delete it',
      'core/errors/b.ts:2 has lost, which stands in core/errors/a.ts',
    ],
  );
});

test('an error class that is not listed is a finding', () => {
  assert.deepEqual(
    found({
      'core/errors.ts': 'export class PlatformError extends Error {}\n',
      'git/host.ts': '// A host.\nexport class HostError extends Error {}\n',
      'test/host.ts': 'class HostError extends Error {}\n',
    }),
    ['git/host.ts:2 has the error class HostError: use PlatformError or Failure'],
  );
});
