// `npm test -- wpt`: the Web Platform Tests in isolates of the real engine beside Node's own globals, a row an area.
// Words pick areas or files by a part of their path; `--update` writes the expectations, `--list` names what Node
// passes and we do not, `--failures` all that we do not. Exits with 1 when a subtest that passed does not any more.
import { refuses } from '#cli/tasks/suites/words.ts';
import { cacheFolder } from '#core/process/cache-folder.ts';
import { areas, interfaceArea, listCases } from './cases.ts';
import {
  gains,
  isKnown,
  passes,
  readExpectations,
  regressions,
  updateExpectations,
  type Comparison,
} from './expectations.ts';
import { runCases, runWorseAgain } from './run.ts';
import { fetchSuite } from './suite.ts';

const words = process.argv.slice(2);
const options = new Set(words.filter((word) => word.startsWith('--')));
const parts = words.filter((word) => !word.startsWith('--'));
const say = (line: string): void => void process.stdout.write(`${line}\n`);

const began = performance.now();
const known = readExpectations();
const cache = cacheFolder(process.env);
const suite = await fetchSuite(cache, known.version, say);
const all = listCases(suite.folder);
const picks = (word: string): boolean => all.some(({ id }) => id.includes(word));
if (refuses('npm test -- wpt', parts, picks, ['parts of the paths of the suite'])) process.exit(2);
const cases = parts.length === 0 ? all : all.filter(({ id }) => parts.some((part) => id.includes(part)));
const onCase = options.has('--times')
  ? ({ test }: Comparison, wallMs: number): void => say(`${wallMs.toFixed(0).padStart(6)} ms ${test.id}`)
  : undefined;
const seen = await runCases({ suite, cache, cases, ...(onCase === undefined ? {} : { onCase }) });
if (options.has('--list') || options.has('--failures'))
  for (const comparison of seen) list(comparison, options.has('--failures'));
table(seen);

const worse = options.has('--update') ? [] : await runWorseAgain(seen, known, { suite, cache });
const gained = seen.reduce((sum, comparison) => sum + gains(comparison, known), 0);
say(
  `${cases.length} files in ${((performance.now() - began) / 1000).toFixed(0)} s; suite ${suite.version}, Node ${process.version}`,
);
if (options.has('--update')) {
  updateExpectations(suite.version, seen, known);
} else {
  for (const comparison of worse) {
    say(`WORSE ${comparison.test.id}${comparison.ours.death === null ? '' : ` (${comparison.ours.death})`}`);
    for (const name of regressions(comparison, known).slice(0, 20))
      say(`  ${name}: ${comparison.ours.subtests[name] ?? 'not run'}`);
  }
  const unknown = cases.filter((test) => !isKnown(test, known)).length;
  if (unknown > 0)
    say(`${unknown} files are not those the expectations were written for (suite ${known.version}): not compared`);
  if (gained > 0) say(`${gained} subtests pass that were not expected to: --update writes them down`);
  process.exitCode = worse.length > 0 ? 1 : 0;
}

function list({ test, ours, nodes, names }: Comparison, everything: boolean): void {
  const missing = names.filter((name) => !passes(ours, name) && (everything || passes(nodes, name)));
  if (missing.length === 0) return;
  say(`${test.id}: ${missing.length}${ours.death === null ? '' : ` (${ours.death})`}`);
  for (const name of missing)
    say(`  ${passes(nodes, name) ? '-' : '='} ${name.slice(0, 160)}: ${ours.subtests[name] ?? 'not run'}`);
}

function table(comparisons: readonly Comparison[]): void {
  say(`${'area'.padEnd(34)}${'passes'.padStart(8)}${'subtests'.padStart(10)}${'Node'.padStart(8)}`);
  for (const area of [...areas, interfaceArea]) {
    const of = comparisons.filter(({ test }) => test.area === area);
    if (of.length === 0) continue;
    const count = (which: (comparison: Comparison, name: string) => boolean): number =>
      of.reduce((sum, comparison) => sum + comparison.names.filter((name) => which(comparison, name)).length, 0);
    const row = [
      count(({ ours }, name) => passes(ours, name)),
      count(() => true),
      count(({ nodes }, name) => passes(nodes, name)),
    ];
    say(`${area.padEnd(34)}${String(row[0]).padStart(8)}${String(row[1]).padStart(10)}${String(row[2]).padStart(8)}`);
  }
}
