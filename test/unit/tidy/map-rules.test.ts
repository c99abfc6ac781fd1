// The rules on the map: the table of ARCHITECTURE.md over made-up import rules, and the lengths.
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { formatFinding } from '#test/tidy/findings.ts';
import { mapFindings } from '#test/tidy/map-rules.ts';

const zones = [
  { prefix: 'core/', may: [] },
  { prefix: 'git/', may: ['core/'] },
  { prefix: 'runtime/engine/', may: ['core/', 'runtime/stores/'] },
  { prefix: 'runtime/engine/http/', may: ['git/urls.ts'], mayTypes: ['runtime/stores/', 'git/'] },
  { prefix: 'runtime/stores/', may: ['core/'], mayTypes: ['runtime/engine/bindings/'] },
  { prefix: 'test/', may: [''] },
];
const table = (cells: Readonly<Record<string, string>>): string =>
  ['# Architecture', '', '| folder | holds | may import |', '| ------ | ----- | ---------- |']
    .concat(Object.entries(cells).map(([folder, may]) => `| \`${folder}\` | things | ${may} |`))
    .join('\n');
const cells = {
  'core/': 'nothing of ours',
  'git/': 'core',
  'runtime/engine/': 'core, git (part), stores',
  'runtime/stores/': 'core, engine (types)',
  'test/': 'everything',
};
const found = (sources: Readonly<Record<string, string>>): string[] => mapFindings(sources, zones).map(formatFinding);

test('a table that says what the import rules say is right', () => {
  assert.deepEqual(found({ 'ARCHITECTURE.md': table(cells) }), []);
});

test('a cell that differs from the import rules is found, with what to write', () => {
  assert.deepEqual(found({ 'ARCHITECTURE.md': table({ ...cells, 'git/': 'core, stores' }) }), [
    'ARCHITECTURE.md:6 says "core, stores" of git/: write "core"',
  ]);
});

test('a folder of the import rules without a row is found', () => {
  const { 'git/': _, ...rest } = cells;
  assert.deepEqual(found({ 'ARCHITECTURE.md': table(rest) }), ['ARCHITECTURE.md has no row for git/']);
});

test('ARCHITECTURE.md has at most 1,500 words, blocks of code aside', () => {
  const words = (count: number): string =>
    `${table(cells)}\n\n${'word '.repeat(count)}\n\n\`\`\`\n${'x '.repeat(99)}\n\`\`\`\n`;
  const own = 27;
  assert.deepEqual(found({ 'ARCHITECTURE.md': words(1500 - own) }), []);
  assert.deepEqual(found({ 'ARCHITECTURE.md': words(1501 - own) }), ['ARCHITECTURE.md has 1501 words: at most 1500']);
});

test('a top-level folder with modules has a README, to which that of the repository leads', () => {
  const sources = { 'README.md': '[core/](core/README.md)', 'core/names.ts': '', 'docs/a.md': '', 'main.ts': '' };
  assert.deepEqual(found({ ...sources, 'core/README.md': '' }), []);
  assert.deepEqual(found({ ...sources, 'git/host/a.ts': '', 'git/README.md': '' }), [
    'core/README.md is missing: a table of what to change where',
    'README.md does not lead to git/README.md',
  ]);
});

test('a decision has at most 150 words and a row of the list', () => {
  const list = '| 7 | [No locks](07-no-locks.md) |\n';
  const decision = (count: number): string => `# 7. No locks\n\n${'word '.repeat(count)}\n`;
  const file = 'docs/decisions/07-no-locks.md';
  assert.deepEqual(found({ 'docs/decisions/README.md': list, [file]: decision(147) }), []);
  assert.deepEqual(found({ 'docs/decisions/README.md': '', [file]: decision(148) }), [
    'docs/decisions/07-no-locks.md has 151 words: at most 150',
    'docs/decisions/README.md has no row "7 | [No locks](07-no-locks.md)"',
  ]);
});
