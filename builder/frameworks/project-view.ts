// A project's folder in its repository, as used by detection: packages, scripts, configuration files. Pure; reads
// through project-files.ts. Called by detect.ts and kinds.ts.
import path from 'node:path';
import { hasPath, type ProjectFiles } from './project-files.ts';

/** Parsed package.json; empty if missing or invalid. */
interface PackageManifest {
  /** Null: not set. */
  readonly name: string | null;
  /** All dependencies: name -> range. */
  readonly packages: ReadonlyMap<string, string>;
  /** Non-empty `scripts`. */
  readonly scripts: ReadonlyMap<string, string>;
}

/** A project's folder. Paths are relative to this folder. */
export interface ProjectView extends PackageManifest {
  /** Path of the project in the repository. */
  readonly folder: string;
  has(file: string): boolean;
  text(file: string): string | null;
  names(folder: string): readonly string[];
  /** Text of the first file with this base name, whatever its extension, without comments; '' if none. */
  config(name: string): string;
  /** Whether the project depends on a package, directly or in a parent folder such as the root of a monorepo. */
  dependsOn(name: string): boolean;
  /** Whether a file or folder with this base name exists, whatever its extension, even if empty. */
  hasConfig(name: string): boolean;
  /** The version of a package: installed, else from the lockfile, else the lowest that its range allows. */
  version(name: string): string | null;
}

/** Maximum length of a range in package.json, since the pattern below is slow on long ones. */
const RANGE_CHARS_MAX = 100;
const CONFIG_ENDINGS = ['ts', 'js', 'mjs', 'mts', 'cjs', 'cts'];

/** @param folder the project's folder, relative to the repository. */
export function openProject(files: ProjectFiles, folder: string): ProjectView {
  const at = (file: string): string => path.posix.join(folder, file);
  const text = (file: string): string | null => files.text(at(file));
  const manifest = parseManifest(text('package.json'));
  return {
    ...manifest,
    folder,
    text,
    has: (file) => hasPath(files, at(file)),
    names: (below) => files.names(at(below)),
    config(name) {
      const found = CONFIG_ENDINGS.map((ending) => text(`${name}.${ending}`)).find((source) => source !== null);
      return withoutComments(found ?? '');
    },
    dependsOn: (name) =>
      foldersFrom(folder)
        .map((above) => files.text(path.posix.join(above, 'package.json')))
        .concat(files.manifestsAbove())
        .some((manifestText) => parseManifest(manifestText).packages.has(name)),
    hasConfig: (name) =>
      ['', ...CONFIG_ENDINGS.map((ending) => `.${ending}`)].some((end) => hasPath(files, at(name + end))),
    version(name) {
      for (const above of foldersFrom(folder)) {
        const installed = files.text(path.posix.join(above, 'node_modules', name, 'package.json'));
        const version = installed === null ? null : fieldOf(installed, 'version');
        if (version !== null) return version;
      }
      return lockedVersion(files, folder, name) ?? lowestOf(manifest.packages.get(name));
    },
  };
}

/** A folder and its parents up to the repository. */
function foldersFrom(folder: string): string[] {
  const folders = [folder];
  for (let at = folder; at !== '.' && at !== '/'; folders.push(at)) at = path.posix.dirname(at);
  return folders;
}

/** @param text of package.json */
export function parseManifest(text: string | null): PackageManifest {
  const parsed = parseObject(text ?? '{}');
  const entries = (key: string): (readonly [string, string])[] =>
    Object.entries(isObject(parsed[key]) ? parsed[key] : {}).flatMap(([name, value]) =>
      typeof value === 'string' && value.trim() !== '' ? [[name, value.trim()] as const] : [],
    );
  return {
    name: typeof parsed['name'] === 'string' ? parsed['name'] : null,
    packages: new Map([...entries('devDependencies'), ...entries('dependencies')]),
    scripts: new Map(entries('scripts')),
  };
}

/** Versions in npm's lockfile, of the project or its workspace; other lockfiles are not read. */
function lockedVersion(files: ProjectFiles, folder: string, name: string): string | null {
  for (const top of new Set([folder, '.'])) {
    const { packages } = parseObject(files.text(path.posix.join(top, 'package-lock.json')) ?? '{}');
    if (!isObject(packages)) continue;
    const own = top === folder ? '' : `${path.posix.relative(top, folder)}/`;
    for (const key of new Set([`${own}node_modules/${name}`, `node_modules/${name}`])) {
      const entry = packages[key];
      if (isObject(entry) && typeof entry['version'] === 'string') return entry['version'];
    }
  }
  return null;
}

/** `^4.1.2` -> `4.1.2`; null for tags, URLs and alternatives. */
function lowestOf(range = ''): string | null {
  if (range.length > RANGE_CHARS_MAX) return null;
  const [, version] =
    /^(?:npm:(?:@[^/]+\/)?[^@]+@)?(?:workspace:)?[\^~>=v ]*(\d+(?:\.\d+){0,2}[\w.+-]*)$/.exec(range) ?? [];
  return version?.replace(/(?:\.[x*])+$/i, '') ?? null;
}

function fieldOf(text: string, key: string): string | null {
  const value = parseObject(text)[key];
  return typeof value === 'string' ? value : null;
}

/** Parses a JSON text; returns an empty object if it is invalid. */
export function parseObject(text: string): Readonly<Record<string, unknown>> {
  try {
    const value: unknown = JSON.parse(text);
    return isObject(value) ? value : {};
  } catch {
    return {};
  }
}

export function isObject(value: unknown): value is Readonly<Record<string, unknown>> {
  return typeof value === 'object' && value !== null && !Array.isArray(value);
}

/** Removes comments from JavaScript, accurate enough for searching words: `//` in a URL is kept. */
function withoutComments(source: string): string {
  let rest = '';
  let from = 0;
  // Written by hand, because a regular expression would be quadratic on input that repeats the opening token.
  for (;;) {
    const begin = source.indexOf('/*', from);
    const end = begin < 0 ? -1 : source.indexOf('*/', begin + 2);
    if (end < 0) break;
    rest += source.slice(from, begin);
    from = end + 2;
  }
  return (rest + source.slice(from)).replaceAll(/(^|[\s;,{([])\/\/.*$/gm, '$1');
}
