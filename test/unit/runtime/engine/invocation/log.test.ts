import assert from 'node:assert/strict';
import { test } from 'node:test';
import { StackMapper } from '#runtime/engine/invocation/log.ts';

// One mapping: line 1, column 11 of the bundle is line 1, column 17 of src/index.ts.
const map = JSON.stringify({ version: 3, sources: ['src/index.ts'], names: [], mappings: 'UAAgB' });

test('positions of the bundle become positions of the source', () => {
  assert.equal(
    new StackMapper(() => map).map('Error: x\n    at f (worker.js:1:11)'),
    'Error: x\n    at f (src/index.ts:1:17)',
  );
});

test('frames of the guest are left out', () => {
  assert.equal(
    new StackMapper(() => map).map('Error: x\n    at f (worker.js:1:11)\n    at enter (platform:guest:10:2)'),
    'Error: x\n    at f (src/index.ts:1:17)',
  );
});

test('without a map, or with a broken one, the text stays as it is', () => {
  const text = 'Error: x\n    at f (worker.js:1:11)';
  assert.equal(new StackMapper(() => null).map(text), text);
  assert.equal(new StackMapper(() => '{').map(text), text);
});

test('the map is only read when a stack asks for it, and once', () => {
  let reads = 0;
  const mapper = new StackMapper(() => {
    reads++;
    return map;
  });
  mapper.map('hello');
  assert.equal(reads, 0);
  mapper.map('worker.js:1:11');
  mapper.map('worker.js:1:11');
  assert.equal(reads, 1);
});

test('the frame of a stack is of the first place in the project itself, from the map alone', () => {
  const lines = ['first line', 'second line'];
  const sources = [
    '../../etc/passwd',
    '/etc/passwd',
    'node_modules/lib/index.js',
    'platform:node/buffer.ts',
    'src/a.ts',
  ];
  // One line of the bundle for each source, all at line 2, column 3 of it.
  const mappings = 'AACE;ACAA;ACAA;ACAA;ACAA';
  const all = JSON.stringify({
    version: 3,
    sources,
    sourcesContent: sources.map(() => lines.join('\n')),
    names: [],
    mappings,
  });
  const stack = [1, 2, 3, 4, 5].map((line) => `    at f (worker.js:${line}:1)`).join('\n');
  assert.deepEqual(new StackMapper(() => all).frame(stack), {
    file: 'src/a.ts',
    line: 2,
    column: 3,
    frame: '  1 | first line\n> 2 | second line\n    |   ^',
  });
  const mapped = stack.replace('worker.js:5:1', 'src/a.ts:2:3').replace('worker.js:2:1', '/etc/passwd:1:1');
  assert.equal(new StackMapper(() => all).frame(mapped)?.file, 'src/a.ts');
  assert.equal(new StackMapper(() => all).frame(stack.split('\n').slice(0, 4).join('\n')), null);
  assert.equal(new StackMapper(() => null).frame(stack), null);
});
