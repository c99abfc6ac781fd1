// Folders that import each other: none is below the other, so neither can be read, moved or tested without the other.
// A new pair is refused; the list may only shrink. Functions over sources; no I/O.
import { arrowsOf, mutualFolders, readModules } from '#cli/tasks/tools/import-graph.ts';
import type { Sources } from '#cli/tasks/tools/sources.ts';
import type { Finding } from './findings.ts';

const LIST = 'test/tidy/pair-rules.ts';

/** Pairs from before the rule. */
const knownPairs: readonly string[] = [
  'core -> core/limits',
  'core -> core/resource-call',
  'dashboard/src/pages/jobs -> dashboard/src/pages/storage',
  'dashboard/src/pages/projects -> dashboard/src/pages/settings',
  'git/host -> git/host/kinds',
  'packages/agent -> packages/agent/mcp',
  'packages/agent -> packages/agent/mcp/serve',
  'packages/agent -> packages/agent/run',
  'packages/agent -> packages/agent/tools',
  'packages/worker -> packages/worker/middleware',
  'runtime/engine -> runtime/engine/process',
  'runtime/engine/guest -> runtime/engine/guest/web',
];

/** Pairs of folders that are not in the list, and rows of the list that no import needs any more. */
export function pairFindings(sources: Sources, known = knownPairs): Finding[] {
  const found = mutualFolders(arrowsOf(readModules(sources)));
  return [
    ...found
      .filter((pair) => !known.includes(pair))
      .map((pair) => {
        const [file, other] = pair.split(' -> ') as [string, string];
        return { file, line: 0, message: `and ${other} import each other: move what both need to the lower folder` };
      }),
    ...known
      .filter((pair) => !found.includes(pair))
      .map((pair) => ({ file: LIST, line: 0, message: `lists ${pair}, which is not a pair: remove that` })),
  ];
}
