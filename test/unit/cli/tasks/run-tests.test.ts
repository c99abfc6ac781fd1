// In which order test files are started, and which run again.
import assert from 'node:assert/strict';
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { test } from 'node:test';
import { nodeFlags } from '#core/node-flags.mjs';
import { root, runProgram } from '#cli/tasks/processes.ts';
import { longestFirst } from '#cli/tasks/run-tests.ts';

test('the longest test files of the last run come first', () => {
  const durations = { 'test/unit/a.test.ts': 10, 'test/unit/b.test.ts': 9000, 'test/integration/c.test.ts': 500 };
  assert.deepEqual(
    longestFirst(Object.keys(durations), durations, () => 0),
    ['test/unit/b.test.ts', 'test/integration/c.test.ts', 'test/unit/a.test.ts'],
  );
});

test('without a last run those that start processes come first, the larger ones before the smaller ones', () => {
  const sizes = {
    'test/unit/a.test.ts': 5000,
    'test/contract/b.test.ts': 1000,
    'test/integration/c.test.ts': 1000,
    'test/integration/d.test.ts': 9000,
  };
  assert.deepEqual(
    longestFirst(Object.keys(sizes), {}, (file) => sizes[file as keyof typeof sizes]),
    ['test/integration/d.test.ts', 'test/integration/c.test.ts', 'test/contract/b.test.ts', 'test/unit/a.test.ts'],
  );
});

test('files that failed are written down, also those whose process ended badly, and a second run is theirs', async (t) => {
  const folder = mkdtempSync(path.join(tmpdir(), 'platform-run-tests-'));
  t.after(() => rmSync(folder, { recursive: true, force: true }));
  const sources = {
    passes: '',
    fails: `throw new Error('no');`,
    crashes: `process.kill(process.pid, 'SIGKILL');`,
    exits: `process.on('exit', () => { process.exitCode = 3; });`,
  };
  const files = Object.entries(sources).map(([name, source]) => {
    const file = path.join(folder, `${name}.test.mjs`);
    writeFileSync(file, `import { test } from 'node:test';\ntest('one of ${name}', () => { ${source} });\n`);
    return path.relative(root, file);
  });
  const run = async (lists: Readonly<Record<string, string>>): Promise<{ code: number; output: string }> => {
    const { NODE_TEST_CONTEXT: _, ...env } = process.env;
    const args = [...nodeFlags, path.join(root, 'cli/tasks/run-tests.ts'), ...files];
    return runProgram(process.execPath, args, { env: { ...env, ...lists } });
  };
  const [first, second] = [path.join(folder, 'first'), path.join(folder, 'second')];
  assert.equal((await run({ TEST_FAILURES: first })).code, 1);
  const failed = files.slice(1);
  assert.deepEqual(readFileSync(first, 'utf8').trimEnd().split('\n').toSorted(), failed.toSorted());
  const again = await run({ TEST_ONLY: first, TEST_FAILURES: second });
  assert.equal(again.code, 1);
  assert.deepEqual(readFileSync(second, 'utf8').trimEnd().split('\n').toSorted(), failed.toSorted());
  assert.doesNotMatch(again.output, /one of passes/);
  writeFileSync(second, `${files[0]}\n`);
  assert.equal((await run({ TEST_ONLY: second })).code, 0);
});
