// Parses the `_redirects` file of an assets folder: one `from to [status]` per line. Called by build.ts. Pure; errors
// include the line. The format is the same as that of Cloudflare Pages and Netlify; where the two differ, this follows
// Cloudflare.
import {
  DYNAMIC_REDIRECTS_MAX,
  redirectSourceProblem,
  redirectTargetProblem,
  STATIC_REDIRECTS_MAX,
} from '#core/asset-rules.ts';
import type { AssetRedirectRule } from '#core/manifest.ts';
import { parsePathPattern, type PathPattern } from '#core/path-pattern.ts';
import { readRuleLines, type RuleFile } from './asset-rule-lines.ts';

/** Maximum characters per line. */
const LINE_CHARS_MAX = 1000;

/**
 * Parses `_redirects`.
 *
 * @throws {BuildError} `assets`, with file and line, for each invalid line.
 * @example parseRedirects({ text: '/old/* /new/:splat 301', file: 'public/_redirects' })
 * // [{ from: '/old/*', to: '/new/:splat', status: 301, force: false }]
 */
export function parseRedirects(file: RuleFile): AssetRedirectRule[] {
  const rules: AssetRedirectRule[] = [];
  let dynamic = 0;
  readRuleLines(file, LINE_CHARS_MAX, (line, fail) => {
    const [from, to, code = '302', ...more] = line.split(/\s+#/)[0]!.trim().split(/\s+/);
    if (from === undefined || to === undefined)
      return fail('A redirect needs a source and a target, and optionally a status');
    const problem = redirectSourceProblem(from);
    if (problem !== null) return fail(problem);
    if (/=/.test(to) && !/^(?:\/|https?:)/.test(to)) return fail('Query parameters in the source are not supported');
    const status = /^(200|301|302|303|307|308)(!?)$/.exec(code);
    if (status === null) return fail(`The status "${code}" is not one of 200, 301, 302, 303, 307, 308`);
    if (more.length > 0) return fail(`"${more.join(' ')}" after the status is not supported`);
    let pattern: PathPattern;
    try {
      pattern = parsePathPattern(from);
    } catch (error) {
      return fail(`The source "${from}" is not a valid pattern: ${(error as Error).message}`);
    }
    const reason = redirectTargetProblem(to, pattern, status[1] === '200');
    if (reason !== null) return fail(`The target "${to}" ${reason}`);
    if (pattern.literal === null && ++dynamic > DYNAMIC_REDIRECTS_MAX)
      return fail(`There are more than ${DYNAMIC_REDIRECTS_MAX} redirects with placeholders or *`);
    if (rules.length + 1 - dynamic > STATIC_REDIRECTS_MAX)
      return fail(`There are more than ${STATIC_REDIRECTS_MAX} redirects without placeholders`);
    if (pattern.literal !== null && pattern.literal === to) return fail(`"${from}" redirects to itself`);
    rules.push({ from, to, status: Number(status[1]) as AssetRedirectRule['status'], force: status[2] === '!' });
  });
  return rules;
}
