// Tables of kinds of bindings: core/bindings/ has one, and other files iterate over it, so that a new kind changes few
// files. Function over sources; no I/O.
import { kinds } from '#core/bindings/kinds.ts';
import { isOwnModule, type Sources } from '#cli/tasks/tools/sources.ts';
import type { Finding } from './findings.ts';

/** Files that may list kinds, and why. The list may only shrink. */
const tables: Readonly<Record<string, string>> = {
  'core/config/written-bindings.ts': 'the bindings of the agent library',
  'dashboard/src/routes/storage.ts': 'the page of each kind',
  'packages/dev/bindings.ts': 'a package of users imports nothing of ours; it passes unknown kinds through',
  'packages/dev/env.ts': 'kinds whose methods return objects, in Node',
  'resources/app.ts': 'the routes of each kind',
  'runtime/engine/kinds/table.ts': "the engine's half of each kind",
  'web/docs-site/navigation.ts': 'pages of the documentation',
};

/** That many kinds in so few lines are a table. */
const KINDS_MIN = 4;
const LINES = 15;

/** Lists of kinds outside core/bindings/, and rows of the list above that are not needed. */
export function bindingFindings(sources: Sources, allowed: Readonly<Record<string, string>> = tables): Finding[] {
  const findings: Finding[] = [];
  for (const [file, text] of Object.entries(sources)) {
    if (!isOwnModule(file) || /^(?:test|bench|examples|core\/bindings)\//.test(file)) continue;
    const line = tableIn(text);
    if (line !== null && allowed[file] === undefined)
      findings.push({ file, line, message: 'lists kinds of bindings: iterate over core/bindings/kinds.ts' });
  }
  for (const file of Object.keys(allowed))
    if (tableIn(sources[file] ?? '') === null)
      findings.push({ file, line: 0, message: 'lists no kinds of bindings: remove its row from binding-rules.ts' });
  return findings;
}

/** The line where a table begins; null without one. */
function tableIn(text: string): number | null {
  const named = text.split('\n').map(kindsIn);
  for (let at = 0; at < named.length; at++)
    if (named[at]!.length > 0 && new Set(named.slice(at, at + LINES).flat()).size >= KINDS_MIN) return at + 1;
  return null;
}

/** Kinds that a line has as a string or as a key. */
function kindsIn(line: string): string[] {
  const found = line.matchAll(/'(\w+)'|^\s*(\w+)\??(?=: |\()/g);
  return [...found]
    .map(([, text, key]) => (text ?? key)!)
    .filter((word) => (kinds as readonly string[]).includes(word));
}
