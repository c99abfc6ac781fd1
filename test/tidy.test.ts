// Holds the whole checkout to the rules of test/tidy/ (design.md sections 5 and 6). A part of `npm run check`.
// TIDY_ROOT points it at another folder: that is how the tests of the rules prove that it fails.
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { fileURLToPath } from 'node:url';
import { importFindings } from './tidy/import-rules.ts';
import { sourceFindings } from './tidy/source-rules.ts';
import { formatFinding, readSources, type Finding } from './tidy/sources.ts';

const sources = readSources(process.env['TIDY_ROOT'] ?? fileURLToPath(new URL('..', import.meta.url)));

function expectNone(findings: readonly Finding[]): void {
  assert.ok(findings.length === 0, `\n${findings.map(formatFinding).join('\n')}`);
}

test('every import goes in a direction that design.md allows', () => {
  expectNone(importFindings(sources));
});

test('every file is named, opened, sized and finished as the rules say', () => {
  expectNone(sourceFindings(sources));
});
