// `npm test`: runs the quick tests. `npm test -- NAME ...`: runs a suite of test/suites.ts, or the parts of it that
// further words name. `npm test -- names publish`: runs the files with one of these words in their path.
// `--changed [commit]`: runs the quick tests that changes since the commit can affect. `--record` writes their costs to
// test/costs.json. Other options are passed to node:test.
import { rungOf, suiteOf, suites } from '#test/suites.ts';
import { changedFiles, reach } from './suites/reach.ts';
import { runSuite } from './suites/run-suite.ts';
import { allTestFiles, runTestFiles } from './suites/test-files.ts';
import { usedSeconds } from './suites/measure-process.ts';
import { refuses } from './suites/words.ts';
import { recordTime } from './times.ts';

export async function run(given: readonly string[]): Promise<number> {
  if (given.includes('--record')) process.env['TEST_RECORD'] = '1';
  const words = given.filter((word) => word !== '--record');
  const suite = suiteOf(words[0] ?? '');
  if (suite !== undefined) return (await runSuite(suite, words.slice(1))).code;
  const changed = words.indexOf('--changed');
  if (changed !== -1) return runChanged(words[changed + 1] ?? 'HEAD', words.slice(changed + 2));
  const options = words.filter((word) => word.startsWith('--'));
  const parts = words.filter((word) => !word.startsWith('--'));
  return parts.length === 0 ? runQuick(options) : runNamed(parts, options);
}

async function runQuick(options: readonly string[]): Promise<number> {
  process.stdout.write(`The quick rung. Slow suites: npm test -- ${suites.map(({ name }) => name).join(' | ')}\n`);
  const code = await runTestFiles(quickFiles(), options);
  process.stdout.write(`${(performance.now() / 1000) | 0} s, ${usedSeconds() | 0} s of CPU\n`);
  if (code === 0 && process.env['TEST_ONLY'] === undefined) recordTime('npm test', performance.now());
  return code;
}

async function runNamed(parts: readonly string[], options: readonly string[]): Promise<number> {
  const all = allTestFiles();
  const picks = (part: string): boolean => all.some((file) => file.includes(part));
  const choices = ['parts of paths of test files', ...suites.map(({ name }) => `the suite ${name}`)];
  if (refuses('npm test', parts, picks, choices)) return 2;
  return runTestFiles(
    all.filter((file) => parts.some((part) => file.includes(part))),
    options,
  );
}

async function runChanged(commit: string, options: readonly string[]): Promise<number> {
  const changed = await changedFiles(commit);
  if (changed === null) {
    process.stderr.write(`npm test -- --changed: there is no commit ${commit} in this clone\n`);
    return 2;
  }
  const reached = reach(changed);
  const quick = quickFiles().filter((file) => reached.distanceOf(file) !== null);
  process.stdout.write(
    `${changed.length} changed files reach ${quick.length} of the ${quickFiles().length} files of the quick rung\n${quick.map((file) => `  ${file}\n`).join('')}`,
  );
  return quick.length === 0 ? 0 : runTestFiles(quick, options);
}

function quickFiles(): readonly string[] {
  return allTestFiles().filter((file) => rungOf(file) === 'quick');
}
