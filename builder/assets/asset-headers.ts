// Parses the `_headers` file of an assets folder: path patterns, each followed by response headers. Called by build.ts.
// Pure; errors include the line. The format is the same as that of Cloudflare Pages and Netlify.
import type { AssetHeaderRule } from '#core/manifest.ts';
import { headerNameProblem, headerPatternProblem, HEADER_RULES_MAX, isHeaderValue } from '#core/asset-rules.ts';
import { readRuleLines, type RuleFile } from './asset-rule-lines.ts';

/** Maximum characters per line. */
const LINE_CHARS_MAX = 2000;

/**
 * Parses `_headers`.
 *
 * @throws {BuildError} `assets`, with file and line, for each invalid line.
 * @example parseHeaders({ text: '/*\n  X-Frame-Options: DENY', file: 'public/_headers' })
 * // [{ pattern: '/*', set: [['x-frame-options', 'DENY']], remove: [] }]
 */
export function parseHeaders(file: RuleFile): AssetHeaderRule[] {
  const rules: { readonly pattern: string; readonly set: [string, string][]; readonly remove: string[] }[] = [];
  readRuleLines(file, LINE_CHARS_MAX, (line, fail) => {
    if (/^(?:\/|https?:)/.test(line)) {
      const reason = headerPatternProblem(line);
      if (reason !== null) return fail(`"${line}" is not a valid pattern: ${reason}`);
      if (rules.length === HEADER_RULES_MAX) return fail(`There are more than ${HEADER_RULES_MAX} header rules`);
      rules.push({ pattern: line, set: [], remove: [] });
      return;
    }
    const rule = rules.at(-1);
    if (rule === undefined) return fail(`"${line}" stands before the first path: begin with a line such as /*`);
    const removed = /^!\s*(.*)$/.exec(line);
    const colon = line.indexOf(':');
    if (removed === null && colon < 0)
      return fail(`"${line}" is neither a path nor a header: write Name: value, or ! Name`);
    const name = (removed?.[1] ?? line.slice(0, colon)).trim().toLowerCase();
    const problem = headerNameProblem(name, removed !== null);
    if (problem !== null) return fail(problem);
    if (removed !== null) {
      rule.remove.push(name);
      return;
    }
    const value = line.slice(colon + 1).trim();
    if (value === '') return fail(`The header ${name} has no value: to remove it, write ! ${name}`);
    if (!isHeaderValue(value)) return fail(`The value of ${name} holds a character that headers cannot carry`);
    rule.set.push([name, value]);
  });
  return rules.filter(({ set, remove }) => set.length + remove.length > 0);
}
