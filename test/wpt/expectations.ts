// What passes, as it is committed: a subtest that has passed once may not fail again. Pure but for the file. A file of
// the suite whose text is another than the one the expectation was written for is not compared.
import { readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import type { WptCase } from './cases.ts';
import type { PageResult } from './page.ts';

/** What is known of one case. */
export interface Expectation {
  /** Of the file's text. */
  readonly hash: string;
  readonly pass: number;
  /** Names of the subtests that do not pass. */
  readonly fail: readonly string[];
}

export interface Expectations {
  /** Version of the source package they were written for. */
  readonly version: string;
  readonly cases: Readonly<Record<string, Expectation>>;
}

/** One case on both sides. */
export interface Comparison {
  readonly test: WptCase;
  readonly ours: PageResult;
  readonly nodes: PageResult;
  /** Names of the subtests that either side has, so that a file that dies fails those that Node has. */
  readonly names: readonly string[];
}

const file = join(import.meta.dirname, 'expectations.json');

export function readExpectations(): Expectations {
  return JSON.parse(readFileSync(file, 'utf8')) as Expectations;
}

/** Joins both sides. */
export function compare(test: WptCase, ours: PageResult, nodes: PageResult): Comparison {
  return { test, ours, nodes, names: [...new Set([...Object.keys(nodes.subtests), ...Object.keys(ours.subtests)])] };
}

/** Whether a subtest passed. */
export function passes(result: PageResult, name: string): boolean {
  return result.subtests[name] === null;
}

/** Whether the expectations were written for this text of the file. */
export function isKnown(test: WptCase, { cases }: Expectations): boolean {
  return cases[test.id]?.hash === test.hash;
}

/** Subtests that the expectations say pass, and do not. */
export function regressions({ test, ours, names }: Comparison, known: Expectations): string[] {
  if (!isKnown(test, known)) return [];
  const expected = known.cases[test.id]!;
  const allowed = new Set(expected.fail);
  const failing = names.filter((name) => !passes(ours, name) && !allowed.has(name));
  const passed = names.filter((name) => passes(ours, name)).length;
  if (failing.length === 0 && passed < expected.pass) failing.push(`${expected.pass - passed} subtests are gone`);
  return failing;
}

/** How many subtests pass that the expectations do not know to pass. */
export function gains({ test, ours, names }: Comparison, known: Expectations): number {
  const passed = names.filter((name) => passes(ours, name)).length;
  return isKnown(test, known) ? Math.max(0, passed - known.cases[test.id]!.pass) : passed;
}

/** Writes what was seen over what was known. */
export function updateExpectations(version: string, seen: readonly Comparison[], known: Expectations): void {
  const cases: Record<string, Expectation> = { ...known.cases };
  for (const { test, ours, names } of seen) {
    const fail = names.filter((name) => !passes(ours, name));
    cases[test.id] = { hash: test.hash, pass: names.length - fail.length, fail };
  }
  const lines = Object.keys(cases)
    .toSorted()
    .map((id) => `    ${JSON.stringify(id)}: ${JSON.stringify(cases[id])}`);
  writeFileSync(file, `{\n  "version": ${JSON.stringify(version)},\n  "cases": {\n${lines.join(',\n')}\n  }\n}\n`);
}
