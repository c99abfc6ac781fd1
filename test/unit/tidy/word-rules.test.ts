// The rule on banned words: its list is the table of the glossary.
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { formatFinding } from '#test/tidy/findings.ts';
import { wordFindings } from '#test/tidy/word-rules.ts';

const glossary = [
  '## Words we do not use',
  '',
  '| word | write instead |',
  '| ---- | ------------- |',
  '| `\\b(?:flights\\|takeOff)\\b` | batcher, flush |',
].join('\n');

test('a banned word is found in sources and documents, with its standard term', () => {
  const sources = {
    'docs/glossary.md': glossary,
    'runtime/stores/a.ts': '// x\nconst Flights = 1;\n',
    'docs/queue.md': 'What takeOff does.\n',
    'docs/state.md': 'A flight of stairs.\n',
  };
  assert.deepEqual(wordFindings(sources).map(formatFinding), [
    'runtime/stores/a.ts:2 says "Flights": write batcher, flush',
    'docs/queue.md:1 says "takeOff": write batcher, flush',
  ]);
});
