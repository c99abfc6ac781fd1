// Runs cases on both sides, or on ours alone. Node's results are kept in the cache: for one Node, one suite and one
// harness they do not change.
import { createHash } from 'node:crypto';
import { existsSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import type { WptCase } from './cases.ts';
import { compare, regressions, type Comparison, type Expectations } from './expectations.ts';
import { openIsolateSide } from './in-isolate.ts';
import { openNodeSide } from './in-node.ts';
import type { PageResult } from './page.ts';
import { openSuiteServer } from './server.ts';
import type { Suite } from './suite.ts';

/** Pages under way at a time: most of the quick ones wait for a timer or a host call now and then. */
const LANES = 3;

export interface RunOptions {
  readonly suite: Suite;
  /** Folder of snapshots and of what Node answered. */
  readonly cache: string;
  readonly cases: readonly WptCase[];
  /** Without Node's side: what is expected says what there has to be. */
  readonly oursAlone?: boolean;
  readonly onCase?: (comparison: Comparison, wallMs: number) => void;
}

const unasked: PageResult = { subtests: {}, death: null };

/** Runs every case in an isolate and with Node's globals. */
export async function runCases({ suite, cache, cases, oursAlone = false, onCase }: RunOptions): Promise<Comparison[]> {
  const server = await openSuiteServer(suite.folder);
  const isolates = await openIsolateSide(suite.folder, server.origin, cache);
  const node = openNodeSide(suite.folder, server.origin);
  const store = oursAlone ? null : nodeStore(cache, suite);
  const comparisons: Comparison[] = Array.from({ length: cases.length });
  let next = 0;
  const lane = async (): Promise<void> => {
    for (let at = next++; at < cases.length; at = next++) {
      const test = cases[at] as WptCase;
      const began = performance.now();
      const ours = await isolates.run(test);
      const wallMs = performance.now() - began;
      const nodes = store === null ? unasked : (store.known[test.id] ??= await node.run(test));
      comparisons[at] = compare(test, ours, nodes);
      onCase?.(comparisons[at] as Comparison, wallMs);
    }
  };
  try {
    await Promise.all(Array.from({ length: LANES }, lane));
    store?.write();
  } finally {
    await node.close();
    await isolates.close();
    server.close();
  }
  return comparisons;
}

/**
 * Those of the seen that are worse than known; each was run again by itself: a machine under load breaks promises of
 * time.
 */
export async function runWorseAgain(
  seen: readonly Comparison[],
  known: Expectations,
  options: Omit<RunOptions, 'cases'>,
): Promise<Comparison[]> {
  const isWorse = (comparison: Comparison): boolean => regressions(comparison, known).length > 0;
  const suspects = seen.filter(isWorse).map(({ test }) => test);
  return suspects.length === 0 ? [] : (await runCases({ ...options, cases: suspects })).filter(isWorse);
}

function nodeStore(cache: string, suite: Suite): { known: Record<string, PageResult>; write(): void } {
  const hash = createHash('sha256').update(`${process.version} ${suite.version}`);
  for (const name of ['in-node.ts', 'page.ts', 'server.ts']) hash.update(readFileSync(join(import.meta.dirname, name)));
  const file = join(cache, 'wpt', `node-${hash.digest('hex').slice(0, 16)}.json`);
  const known = existsSync(file) ? (JSON.parse(readFileSync(file, 'utf8')) as Record<string, PageResult>) : {};
  return { known, write: () => writeFileSync(file, JSON.stringify(known)) };
}
