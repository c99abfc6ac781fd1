// Runs cases on both sides. Node's results are kept in the cache: for one Node, one suite and one harness they do not change.
import { createHash } from 'node:crypto';
import { existsSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import type { WptCase } from './cases.ts';
import { compare, type Comparison } from './expectations.ts';
import { openIsolateSide } from './in-isolate.ts';
import { openNodeSide } from './in-node.ts';
import type { PageResult } from './page.ts';
import { openSuiteServer } from './server.ts';
import type { Suite } from './suite.ts';

/** Pages under way at a time: most of the quick ones wait for a timer or a host call now and then. */
const LANES = 3;

export interface RunOptions {
  readonly suite: Suite;
  /** Folder of snapshots and of what Node answered. */ readonly cache: string;
  readonly cases: readonly WptCase[];
  readonly onCase?: (comparison: Comparison, wallMs: number) => void;
}

/** Runs every case in an isolate and with Node's globals. */
export async function runCases({ suite, cache, cases, onCase }: RunOptions): Promise<Comparison[]> {
  const server = await openSuiteServer(suite.folder);
  const isolates = await openIsolateSide(suite.folder, server.origin, cache);
  const node = openNodeSide(suite.folder, server.origin);
  const store = nodeStore(cache, suite);
  const comparisons: Comparison[] = Array.from({ length: cases.length });
  let next = 0;
  const lane = async (): Promise<void> => {
    for (let at = next++; at < cases.length; at = next++) {
      const test = cases[at] as WptCase;
      const began = performance.now();
      const ours = await isolates.run(test);
      const wallMs = performance.now() - began;
      const nodes = (store.known[test.id] ??= await node.run(test));
      comparisons[at] = compare(test, ours, nodes);
      onCase?.(comparisons[at] as Comparison, wallMs);
    }
  };
  try {
    await Promise.all(Array.from({ length: LANES }, lane));
    store.write();
  } finally {
    await node.close();
    await isolates.close();
    server.close();
  }
  return comparisons;
}

function nodeStore(cache: string, suite: Suite): { known: Record<string, PageResult>; write(): void } {
  const hash = createHash('sha256').update(`${process.version} ${suite.version}`);
  for (const name of ['in-node.ts', 'page.ts', 'server.ts']) hash.update(readFileSync(join(import.meta.dirname, name)));
  const file = join(cache, 'wpt', `node-${hash.digest('hex').slice(0, 16)}.json`);
  const known = existsSync(file) ? (JSON.parse(readFileSync(file, 'utf8')) as Record<string, PageResult>) : {};
  return { known, write: () => writeFileSync(file, JSON.stringify(known)) };
}
