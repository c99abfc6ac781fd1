// The runner of test files: which files it reports as failed, which run again, and that files which share a process
// keep their hooks to themselves.
import assert from 'node:assert/strict';
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import path from 'node:path';
import { test, type TestContext } from 'node:test';
import { nodeFlags } from '#core/node-flags.mjs';
import { root, runProgram } from '#cli/tasks/tools/processes.ts';

/** Writes test files below test/unit/, where files share a process; their paths in the checkout. */
function writeFiles(t: TestContext, sources: Readonly<Record<string, string>>): string[] {
  const folder = mkdtempSync(path.join(root, 'test/unit/.run-files-'));
  t.after(() => rmSync(folder, { recursive: true, force: true }));
  return Object.entries(sources).map(([name, source]) => {
    const file = path.join(folder, `${name}.test.mjs`);
    writeFileSync(file, `import { after, before, test } from 'node:test';\n${source}\n`);
    return path.relative(root, file);
  });
}

function run(files: readonly string[], lists: Readonly<Record<string, string>> = {}): ReturnType<typeof runProgram> {
  const { NODE_TEST_CONTEXT: _, ...env } = process.env;
  const args = [...nodeFlags, path.join(root, 'cli/tasks/suites/run-files.ts'), ...files];
  return runProgram(process.execPath, args, { env: { ...env, ...lists } });
}

const linesOf = (file: string): readonly string[] => readFileSync(file, 'utf8').trimEnd().split('\n').toSorted();

test('of files that share a process those that fail are written down, each has its own hooks, and the dearest are shown', async (t) => {
  const hooks = (name: string): string =>
    `before(() => console.log('open ${name}')); after(() => console.log('close ${name}')); test('in ${name}', () => console.log('test ${name}'));`;
  const files = writeFiles(t, {
    a: hooks('a'),
    b: hooks('b'),
    burns: `test('one that burns', () => { const end = process.cpuUsage().user + 300_000; while (process.cpuUsage().user < end); });`,
    fails: `test('one that fails', () => { throw new Error('no'); });`,
    throws: `throw new Error('at its top');`,
  });
  const folder = path.dirname(path.join(root, files[0]!));
  const [first, second] = [path.join(folder, 'first'), path.join(folder, 'second')];
  const { code, output } = await run(files, { TEST_FAILURES: first });
  assert.equal(code, 1);
  assert.deepEqual(linesOf(first), files.slice(3).toSorted());
  const steps = output.split('\n').filter((line) => /^(?:open|test|close) [ab]$/.test(line));
  assert.deepEqual(steps, ['open a', 'test a', 'close a', 'open b', 'test b', 'close b']);
  const row = new RegExp(`^ +(\\d+\\.\\d)  ${files[2]!.replaceAll('.', '\\.')}$`, 'm').exec(output);
  assert.ok(Number(row?.[1]) >= 0.3, output);
  const again = await run(files, { TEST_ONLY: first, TEST_FAILURES: second });
  assert.equal(again.code, 1);
  assert.deepEqual(linesOf(second), files.slice(3).toSorted());
  assert.doesNotMatch(again.output, /one that burns/);
});

test('all files of a process that is killed or ends badly are written down', async (t) => {
  const crashes = writeFiles(t, {
    passes: `test('one that passes', () => {});`,
    crashes: `test('one that crashes', () => { process.kill(process.pid, 'SIGKILL'); });`,
  });
  // Outside of the folders in which files share a process.
  const alone = mkdtempSync(path.join(root, 'test/.run-files-'));
  t.after(() => rmSync(alone, { recursive: true, force: true }));
  const exits = path.join(alone, 'exits.test.mjs');
  const code = `process.on('exit', () => { process.exitCode = 3; });`;
  writeFileSync(exits, `import { test } from 'node:test';\ntest('one that exits', () => { ${code} });\n`);
  const list = path.join(alone, 'failed');
  assert.equal((await run([...crashes, path.relative(root, exits)], { TEST_FAILURES: list })).code, 1);
  assert.deepEqual(linesOf(list), [...crashes, path.relative(root, exits)].toSorted());
});
