// Rules about what tests cost (test/costs.json, which the runner writes): the quick rung stays cheap, and every cost is
// of something that exists. Pure.
import { dearFiles, FILE_CPU_SECONDS_MAX, rungOf, suiteOf } from '#test/suites.ts';
import type { Sources } from '#cli/tasks/tools/sources.ts';
import type { Finding } from './findings.ts';

const COSTS = 'test/costs.json';
const TABLE = 'test/suites.ts';

/** Files of the quick rung that cost too much, rows of the list that are not needed, and costs of nothing. */
export function costFindings(sources: Sources, dear: Readonly<Record<string, string>> = dearFiles): Finding[] {
  const costs = JSON.parse(sources[COSTS] ?? '{}') as Readonly<Record<string, number>>;
  const findings: Finding[] = [];
  const add = (file: string, message: string): void => void findings.push({ file, line: 0, message });
  for (const [name, seconds] of Object.entries(costs)) {
    if (!name.startsWith('test/')) {
      const suite = name.split(' ')[0]!;
      if (suiteOf(suite) === undefined && !['quick', 'check'].includes(suite))
        add(COSTS, `has a cost of ${name}: there is no such suite`);
    } else if (sources[name] === undefined) {
      add(COSTS, `has a cost of ${name}, which does not exist`);
    } else if (rungOf(name) === 'quick' && seconds > FILE_CPU_SECONDS_MAX && dear[name] === undefined) {
      add(name, `costs ${seconds} CPU s; a file of the quick rung costs at most ${FILE_CPU_SECONDS_MAX}`);
    }
  }
  for (const file of Object.keys(dear))
    if ((costs[file] ?? 0) <= FILE_CPU_SECONDS_MAX)
      add(TABLE, `lists ${file} as dear, which it is not: remove the row, the list may only shrink`);
  for (const file of Object.keys(sources))
    if (file.endsWith('.test.ts') && /^test\/(?!fixtures\/|frameworks\/apps\/)/.test(file) && rungOf(file) === 'none')
      add(file, `is in a folder that ${TABLE} does not know: no command runs it`);
  return findings;
}
