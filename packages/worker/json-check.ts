// Checks of values, which collect problems, and how checks combine. json-schema.ts compiles schemas into these checks.

/** A validation problem. */
export interface Issue {
  readonly path: readonly (string | number)[];
  readonly message: string;
}

/** Adds problems to `issues`, with paths relative to the value, and returns the value with defaults filled in. */
export type Check = (value: unknown, issues: Issue[]) => unknown;

/** Limit of issues per value, after which validation stops. */
export const issuesMax = 20;

/** Whether a value is valid, without collecting the reasons. */
export function fits(check: Check, value: unknown): boolean {
  const issues: Issue[] = [];
  check(value, issues);
  return issues.length === 0;
}

const here: readonly never[] = [];

export function report(issues: Issue[], message: string, path: readonly (string | number)[] = here): void {
  if (issues.length < issuesMax) issues.push({ path, message });
}

/** Validates a part of a value. The path is built only for a problem, which is rare. */
export function checkPart(check: Check, value: unknown, key: string | number, issues: Issue[]): unknown {
  const before = issues.length;
  const made = check(value, issues);
  for (let at = before; at < issues.length; at++) {
    const { path, message } = issues[at]!;
    issues[at] = { path: [key, ...path], message };
  }
  return made;
}

/** The first matching branch; if none matches, the problems of the closest branch. */
export function anyCheck(checks: readonly Check[]): Check {
  return (value, issues) => {
    let closest: Issue[] | null = null;
    const reasons = new Set<string>();
    for (const check of checks) {
      const found: Issue[] = [];
      const made = check(value, found);
      if (found.length === 0) return made;
      reasons.add(found[0]!.message);
      if (closest === null || depth(found) > depth(closest)) closest = found;
    }
    if (closest !== null && depth(closest) > 0)
      for (const { path: at, message } of closest) report(issues, message, at);
    else report(issues, [...reasons].join(', and '));
    return value;
  };
}

function depth(issues: readonly Issue[]): number {
  return Math.max(...issues.map(({ path }) => path.length));
}

export function oneCheck(checks: readonly Check[]): Check {
  const any = anyCheck(checks);
  return (value, issues) => {
    const fitting = checks.filter((check) => fits(check, value));
    if (fitting.length === 1) return fitting[0]!(value, issues);
    if (fitting.length === 0) return any(value, issues);
    report(issues, 'matches more than one of the allowed schemas');
    return value;
  };
}
