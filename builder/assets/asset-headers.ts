// `_headers` of an assets folder: path patterns, each followed by the headers that answers below it get. Called by
// build.ts. Pure; what is wrong is said with its line. The form is that of Cloudflare Pages and Netlify.
import type { AssetHeaderRule } from '#core/manifest.ts';
import { parsePathPattern, splitHostPattern } from '#core/path-pattern.ts';
import { readRuleLines, type RuleFile } from './asset-rule-lines.ts';

/** Rules in one file. */
const RULES_MAX = 100;
/** Characters in one line. */
const LINE_CHARS_MAX = 2000;

/** Headers that say how the bytes are framed or which bytes they are: only the server knows. */
const OWNED_BY_SERVER = new Set([
  'connection',
  'content-encoding',
  'content-length',
  'content-range',
  'date',
  'etag',
  'keep-alive',
  'proxy-connection',
  'te',
  'trailer',
  'transfer-encoding',
  'upgrade',
]);

/**
 * Reads `_headers`.
 *
 * @throws {BuildError} `assets`, with file and line, for each line that means nothing.
 * @example parseHeaders({ text: '/*\n  X-Frame-Options: DENY', file: 'public/_headers' })
 * // [{ pattern: '/*', set: [['x-frame-options', 'DENY']], remove: [] }]
 */
export function parseHeaders(file: RuleFile): AssetHeaderRule[] {
  const rules: { readonly pattern: string; readonly set: [string, string][]; readonly remove: string[] }[] = [];
  readRuleLines(file, LINE_CHARS_MAX, (line, fail) => {
    if (/^(?:\/|https?:)/.test(line)) {
      const reason = patternProblem(line);
      if (reason !== null) return fail(`"${line}" is no pattern: ${reason}`);
      if (rules.length === RULES_MAX) return fail(`There are more than ${RULES_MAX} header rules`);
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
    if (!/^[a-z0-9!#$%&'*+\-.^_`|~]+$/.test(name)) return fail(`"${name}" is no header name`);
    if (OWNED_BY_SERVER.has(name)) return fail(`The header ${name} is set by the server and cannot be changed`);
    if (removed !== null) {
      if (name === 'vary')
        return fail('The header vary cannot be removed: caches would mix compressed and plain answers');
      rule.remove.push(name);
      return;
    }
    const value = line.slice(colon + 1).trim();
    if (value === '') return fail(`The header ${name} has no value: to remove it, write ! ${name}`);
    if (!/^[\t\x20-\x7e\x80-\xff]*$/.test(value))
      return fail(`The value of ${name} holds a character that headers cannot carry`);
    rule.set.push([name, value]);
  });
  return rules.filter(({ set, remove }) => set.length + remove.length > 0);
}

function patternProblem(text: string): string | null {
  if (/\s/.test(text)) return 'it holds white space';
  try {
    const parts = splitHostPattern(text);
    if (parts === null) return 'write a path, or https://host/path without query';
    if (parts.host !== null) parsePathPattern(parts.host);
    parsePathPattern(parts.path);
    return null;
  } catch (error) {
    return (error as Error).message;
  }
}
