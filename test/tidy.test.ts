// Holds the whole checkout to the rules of test/tidy/ (CONTRIBUTING.md). A part of `npm run check`.
// TIDY_ROOT points it at another folder: that is how the tests of the rules prove that it fails.
import assert from 'node:assert/strict';
import { existsSync, globSync } from 'node:fs';
import path from 'node:path';
import { test } from 'node:test';
import { fileURLToPath } from 'node:url';
import { readSources } from '#cli/tasks/tools/sources.ts';
import { bindingFindings } from './tidy/binding-rules.ts';
import { costFindings } from './tidy/cost-rules.ts';
import { commentFindings, documentFindings } from './tidy/document-rules.ts';
import { errorFindings } from './tidy/error-rules.ts';
import { importFindings, unusedRowFindings } from './tidy/import-findings.ts';
import { mapFindings } from './tidy/map-rules.ts';
import { migrationFindings } from './tidy/migration-rules.ts';
import { pairFindings } from './tidy/pair-rules.ts';
import { sourceFindings, unusedExceptionFindings } from './tidy/source-rules.ts';
import { exportFindings, fileFindings } from './tidy/use-rules.ts';
import { wordFindings } from './tidy/word-rules.ts';
import { formatFinding, type Finding } from './tidy/findings.ts';

const root = process.env['TIDY_ROOT'] ?? fileURLToPath(new URL('..', import.meta.url));
const sources = readSources(root);

function expectNone(findings: readonly Finding[]): void {
  assert.ok(findings.length === 0, `\n${findings.map(formatFinding).join('\n')}`);
}

test('every import goes in a direction that the table allows', () => {
  expectNone(importFindings(sources));
});

test('every row of the table of imports, and every exception from a rule, is needed', () => {
  expectNone([...unusedRowFindings(sources), ...unusedExceptionFindings(sources)]);
});

test('no pair of folders is added that import each other', () => {
  expectNone(pairFindings(sources));
});

test('every export has an importer, and every file is reached from a program or a test', () => {
  expectNone([...exportFindings(sources), ...fileFindings(sources)]);
});

test('every file is named, opened, sized and finished as the rules say', () => {
  expectNone(sourceFindings(sources));
});

const exists = (file: string): boolean =>
  file.includes('*') ? globSync(file, { cwd: root }).length > 0 : existsSync(path.join(root, file));

test('every file that a comment names exists', () => {
  expectNone(commentFindings(sources, exists));
});

test('every error code has one row and is used, and no error class is added', () => {
  expectNone(errorFindings(sources));
});

test('no word of the banned list is used', () => {
  expectNone(wordFindings(sources));
});

test('every path, link and command in the documents leads somewhere', () => {
  expectNone(documentFindings(sources, exists));
});

test('ARCHITECTURE.md agrees with the import rules; it and each decision are short', () => {
  expectNone(mapFindings(sources));
});

test('the quick rung is cheap, and each test file is run by a command', () => {
  expectNone(costFindings(sources));
});

test('processes of the version before work on the schema of this one', () => {
  expectNone(migrationFindings(sources));
});

test('kinds of bindings are listed in core/bindings/ and in no other table', () => {
  expectNone(bindingFindings(sources));
});
