// `node cli/run.mjs :subjects [FILE]`: checks whether subjects of commits follow CONTRIBUTING.md: `scope: verb object`
// in at most 60 characters. FILE contains the message of a new commit (.githooks/commit-msg); without FILE, as in
// `.ci/run`, the commits of the last day are checked.
import { execFileSync } from 'node:child_process';
import { readFileSync } from 'node:fs';
import { root } from './tools/processes.ts';

const CHARS_MAX = 60;
/** The rule applies to commits after this one. */
const SINCE = 'c9e8534d';

/**
 * The objection to a commit subject; null if valid.
 *
 * @example objectionTo('engine: retry forwarded GETs once'); // null
 */
export function objectionTo(subject: string): string | null {
  if (/^(?:Merge|Revert|fixup!|squash!) /.test(subject)) return null;
  if (subject.length > CHARS_MAX) return `has ${subject.length} characters, at most ${CHARS_MAX} are allowed`;
  if (!/^[a-z][\w./-]*(?:, [a-z][\w./-]*)*: \S/.test(subject)) return 'does not read "scope: verb object"';
  if (subject.endsWith('.')) return 'ends with a full stop';
  return null;
}

export async function run([file]: readonly string[]): Promise<number> {
  const subjects = file === undefined ? recentSubjects() : [readFileSync(file, 'utf8').split('\n', 1)[0]!];
  const findings = subjects.flatMap((subject) => {
    const objection = objectionTo(subject);
    return objection === null ? [] : [`The commit subject "${subject}" ${objection}\n`];
  });
  process.stderr.write(findings.join(''));
  return findings.length === 0 ? 0 : 1;
}

/** Subjects of the last day's commits to which the rule applies. */
function recentSubjects(): string[] {
  const log = (...words: string[]): string[] =>
    execFileSync('git', ['log', '--since=1 day ago', '--format=%s', ...words], {
      cwd: root,
      encoding: 'utf8',
      stdio: ['ignore', 'pipe', 'ignore'],
    })
      .split('\n')
      .filter((line) => line !== '');
  try {
    return log(`${SINCE}..HEAD`);
  } catch {
    // A shallow clone.
    return log('HEAD');
  }
}
