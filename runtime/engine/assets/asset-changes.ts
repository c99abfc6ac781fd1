// Applies `_headers` and `_redirects` to responses of the asset layer: their rules are parsed once per artifact, then
// matched per path. Pure; used by assets.ts. The builder has validated the rules; invalid rules match nothing here.
import type { AssetHeaderRule, AssetRedirectRule, AssetRules } from '#core/manifest.ts';
import {
  fillPlaceholders,
  matchPattern,
  parsePathPattern,
  splitHostPattern,
  type PathPattern,
  type PatternValues,
} from '#core/path-pattern.ts';

/** Changes of `_headers` for one path. */
export interface HeaderChanges {
  readonly set: ReadonlyMap<string, string>;
  readonly removed: ReadonlySet<string>;
  /** The same changes as one text, for comparison. */
  readonly key: string;
}

/** A redirect; with status 200, a rewrite to another path. */
export interface Moved {
  readonly status: AssetRedirectRule['status'];
  readonly force: boolean;
  /** A path or URL, ready to send; with status 200, a decoded path. */
  readonly to: string;
}

/** The rules of an artifact. */
export interface AssetChanges {
  /** Changes of a path's headers; null if there are none. */
  headersOf(path: string, host: string): HeaderChanges | null;
  /** Whether `headersOf` depends on the host of a request. */
  readonly dependsOnHost: boolean;
  /** The first redirect rule of a decoded path. */
  movedFrom(path: string): Moved | null;
}

interface HeaderMatcher {
  readonly rule: AssetHeaderRule;
  readonly host: PathPattern | null;
  readonly path: PathPattern;
}

const nothing: AssetChanges = { headersOf: () => null, dependsOnHost: false, movedFrom: () => null };

export function assetChanges({ headers = [], redirects = [] }: AssetRules): AssetChanges {
  if (headers.length === 0 && redirects.length === 0) return nothing;
  const matchers = headers.flatMap(headerMatcher);
  const fixed = new Map<string, number>();
  const patterns: { readonly index: number; readonly pattern: PathPattern }[] = [];
  for (const [index, { from }] of redirects.entries()) {
    const pattern = patternOf(from);
    if (pattern === null) continue;
    if (pattern.literal === null) patterns.push({ index, pattern });
    else if (!fixed.has(pattern.literal)) fixed.set(pattern.literal, index);
  }
  return {
    dependsOnHost: matchers.some(({ host }) => host !== null),
    headersOf: (path, host) => headerChanges(matchers, path, host),
    movedFrom(path) {
      const first = fixed.get(path) ?? redirects.length;
      for (const { index, pattern } of patterns) {
        if (index > first) break;
        const values = matchPattern(pattern, path);
        if (values !== null) return moved(redirects[index]!, values);
      }
      return first < redirects.length ? moved(redirects[first]!, {}) : null;
    },
  };
}

function patternOf(text: string): PathPattern | null {
  try {
    return parsePathPattern(text);
  } catch {
    return null;
  }
}

function headerMatcher(rule: AssetHeaderRule): HeaderMatcher[] {
  const parts = splitHostPattern(rule.pattern);
  const path = parts === null ? null : patternOf(parts.path);
  const host = parts === null || parts.host === null ? null : patternOf(parts.host);
  return path === null || (parts!.host !== null && host === null) ? [] : [{ rule, host, path }];
}

function headerChanges(matchers: readonly HeaderMatcher[], path: string, host: string): HeaderChanges | null {
  let changes: { readonly set: Map<string, string>; readonly removed: Set<string> } | null = null;
  for (const matcher of matchers) {
    const ofPath = matchPattern(matcher.path, path);
    if (ofPath === null) continue;
    const ofHost = matcher.host === null ? {} : matchPattern(matcher.host, `//${host}`, '.');
    if (ofHost === null) continue;
    changes ??= { set: new Map(), removed: new Set() };
    for (const name of matcher.rule.remove) {
      changes.removed.add(name);
      changes.set.delete(name);
    }
    const values = { ...ofHost, ...ofPath };
    for (const [name, text] of matcher.rule.set) {
      const value = fillPlaceholders(text, values, headerText);
      const before = changes.set.get(name);
      // Values of several rules are joined, and the result replaces the platform's value.
      changes.set.set(name, before === undefined ? value : `${before}, ${value}`);
    }
  }
  return changes === null ? null : { ...changes, key: JSON.stringify([[...changes.set], [...changes.removed]]) };
}

/** Escapes a path for use in a header: non-ASCII characters and those that could end the line stay escaped. */
function headerText(value: string): string {
  return value.replace(/[^\x20-\x7e]+/g, (part) => encodeURIComponent(part.toWellFormed()));
}

function moved({ to, status, force }: AssetRedirectRule, values: PatternValues): Moved {
  if (status === 200) return { status, force, to: fillPlaceholders(decodedTarget(to), values, (value) => value) };
  // A visitor's input cannot turn a path into a host or change the rest of the URL.
  const filled = fillPlaceholders(to, values, (value) =>
    value.toWellFormed().split('/').map(encodeURIComponent).join('/'),
  );
  const safe = to.startsWith('/') ? filled.replace(/^\/+/, '/') : filled;
  return { status, force, to: safe.replace(/[^\x21-\x7e]+/g, (part) => encodeURIComponent(part.toWellFormed())) };
}

function decodedTarget(to: string): string {
  try {
    return decodeURIComponent(to);
  } catch {
    return to;
  }
}
