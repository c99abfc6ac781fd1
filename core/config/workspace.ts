// platform-workspace.yaml and the monorepo rules of docs/platform-yaml.md, over a list of paths and relevant file
// contents. Called by the builder and `platform dev`, which read the files. No I/O.
import type { XStatic } from '../typebox/typebox.mjs';
import { hasErrors, quoted, type Problem } from '../problem.ts';
import { checkSource } from './schema-check.ts';
import { readYaml } from './yaml-source.ts';

const workspaceFileSchema = {
  type: 'object',
  additionalProperties: false,
  properties: {
    exclude: {
      type: 'array',
      maxItems: 100,
      items: {
        type: 'string',
        pattern: '^.{1,256}$',
        expects: 'a pattern such as "examples/*", of at most 256 characters',
      },
      expects: 'a list of patterns, such as ["examples/*"]',
    },
  },
} as const;

/** Name of the file at the root of the repository that excludes folders. */
export const workspaceFileName = 'platform-workspace.yaml';

/** Root files that mark a repository as a monorepo: workspace manifests and configurations of task runners. */
const INDICATOR_FILES: readonly string[] = [
  'pnpm-workspace.yaml',
  'lerna.json',
  'rush.json',
  'turbo.json',
  'turbo.jsonc',
  'nx.json',
  '.moon/workspace.yml',
  'lage.config.js',
];

/** Result of inspecting a repository's paths. */
export interface Workspace {
  /** Whether the monorepo rules apply. */
  readonly monorepo: boolean;
  /** The files that indicate a workspace, sorted; empty if there are none. */
  readonly indicators: readonly string[];
  /** All platform.yaml files that are used, sorted. */
  readonly projectFiles: readonly string[];
  readonly problems: readonly Problem[];
}

/**
 * Parses platform-workspace.yaml.
 *
 * @returns the patterns of `exclude` (none when the file has errors) and its problems.
 */
export function parseWorkspaceFile(
  text: string,
  options: { readonly file: string },
): { exclude: readonly string[]; problems: readonly Problem[] } {
  const source = readYaml(text, options.file);
  if (!source.readable) return { exclude: [], problems: source.problems };
  const { value, entries } = checkSource(source, workspaceFileSchema);
  const { exclude = [] } = value as XStatic<typeof workspaceFileSchema>;
  for (const [index, pattern] of exclude.entries()) {
    // An invalid pattern was reported and is undefined here.
    const reason = pattern === undefined ? undefined : patternProblem(pattern);
    const path = `exclude[${index}]`;
    if (reason !== undefined) source.report(`${quoted(pattern)} ${reason}`, entries.get(path)?.value, path);
  }
  return { exclude: hasErrors(source.problems) ? [] : exclude, problems: source.problems };
}

/**
 * Determines whether a repository is a monorepo and which configuration files count.
 *
 * @param repository.paths every file, relative to the root, with `/`.
 * @param repository.texts texts by path; only `package.json` and `platform-workspace.yaml` at the root are read.
 * @example inspectRepository({ paths: ['a/platform.yaml', 'b/platform.yaml'], texts: {} }).monorepo // true
 */
export function inspectRepository(repository: {
  readonly paths: readonly string[];
  readonly texts: Readonly<Record<string, string>>;
}): Workspace {
  const { paths, texts } = repository;
  const { exclude, problems } = parseWorkspaceFile(texts[workspaceFileName] ?? '', { file: workspaceFileName });
  const projectFiles = paths.filter((path) => isProjectFile(path) && !isExcluded(folderOf(path), exclude)).sort();
  const indicators: string[] = INDICATOR_FILES.filter((file) => paths.includes(file));
  if (hasWorkspaces(texts['package.json'])) indicators.push('package.json');
  if (projectFiles.length > 1) indicators.push(...projectFiles);
  return { monorepo: indicators.length > 0, indicators: [...indicators].sort(), projectFiles, problems };
}

function isProjectFile(path: string): boolean {
  const parts = path.split('/');
  return parts.at(-1) === 'platform.yaml' && !parts.includes('node_modules');
}

function folderOf(path: string): string {
  const end = path.lastIndexOf('/');
  return end < 0 ? '' : path.slice(0, end);
}

function hasWorkspaces(manifest: string | undefined): boolean {
  if (manifest === undefined) return false;
  try {
    const parsed: unknown = JSON.parse(manifest.replace(/^\ufeff/, ''));
    const workspaces =
      typeof parsed === 'object' && parsed !== null && 'workspaces' in parsed ? parsed.workspaces : undefined;
    return typeof workspaces === 'object' && workspaces !== null;
  } catch {
    // The package manager reports a broken package.json.
    return false;
  }
}

function patternProblem(pattern: string): string | undefined {
  if (pattern.startsWith('!')) return 'begins with "!", which is not supported';
  if (/[[\]{}()\\]/.test(pattern)) return 'uses more than *, ** and ?, which is not supported';
  if (pattern.startsWith('/') || pattern.split('/').includes('..'))
    return 'must be relative to the root of the repository';
  return undefined;
}

/** Whether a folder, or one of its ancestors, matches a pattern. */
function isExcluded(folder: string, patterns: readonly string[]): boolean {
  const parts = folder === '' ? [] : folder.split('/');
  return patterns.some((pattern) => {
    const wanted = pattern.split('/').filter((part) => part !== '' && part !== '.');
    return parts.some((_, index) => matchesPath(parts.slice(0, index + 1), wanted));
  });
}

/** `**` matches any number of folders. Uses tables, not regular expressions, because the pattern is untrusted. */
function matchesPath(parts: readonly string[], pattern: readonly string[]): boolean {
  return matchesAll(
    parts.length,
    pattern.length,
    (i) => pattern[i] === '**',
    (i, j) => matchesName(parts[i]!, pattern[j]!),
  );
}

function matchesName(name: string, pattern: string): boolean {
  return matchesAll(
    name.length,
    pattern.length,
    (i) => pattern[i] === '*',
    (i, j) => pattern[j] === '?' || pattern[j] === name[i],
  );
}

/**
 * Whether a sequence matches a pattern in which some elements match any number of others; takes length times length
 * steps.
 */
function matchesAll(
  length: number,
  patternLength: number,
  isMany: (j: number) => boolean,
  fits: (i: number, j: number) => boolean,
): boolean {
  let reached = Array.from({ length: length + 1 }, (_, i) => i === 0);
  for (let j = 0; j < patternLength; j++) {
    const next = [isMany(j) && reached[0]!];
    for (let i = 1; i <= length; i++)
      next.push(isMany(j) ? reached[i]! || next[i - 1]! : reached[i - 1]! && fits(i - 1, j));
    reached = next;
  }
  return reached[length]!;
}
