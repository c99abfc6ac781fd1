// Selects the files of a workspace that an ssr project needs at run time: its own files, and its production
// dependencies, resolved as Node does, with any package manager. Called by archive.ts.
import { lstatSync, readdirSync, readlinkSync, realpathSync, type Stats } from 'node:fs';
import path from 'node:path';
import { readTextSync } from '#core/text-file.ts';
import { BuildError } from '../project/build-error.ts';

/** A file or link in an archive. */
export interface ServerFile {
  /** Path in the archive, with `/`. */
  readonly name: string;
  /** Absolute path of the source. */
  readonly file: string;
  readonly bytes: number;
  readonly isExecutable: boolean;
  /** The relative target, if the entry is a link. */
  readonly target: string | null;
}

/** Files that are not needed at run time: tool caches, and private keys. */
const LEFT_OUT =
  /^(?:node_modules|\.git|\.github|\.cache|\.turbo|\.angular|\.svelte-kit|\.astro|\.vscode|\.idea|\.platform.*|\.npmrc|\.yarnrc(?:\.yml)?)$/;
const LEFT_OUT_OF_NEXT = new Set(['cache', 'dev', 'trace', 'types', 'diagnostics']);

/** Variables come from the platform, and .env files contain secrets. */
export function isVariables(name: string): boolean {
  return /^\.env(?:\..*)?$/.test(name);
}

interface PackageFile {
  readonly dependencies?: Readonly<Record<string, string>>;
  readonly optionalDependencies?: Readonly<Record<string, string>>;
  readonly peerDependencies?: Readonly<Record<string, string>>;
}

/** Collects files by name, which prevents duplicates. */
export class ServerFiles {
  readonly files = new Map<string, ServerFile>();
  #base: string;
  #filesMax: number;

  /** @param base root folder of all names, absolute and without links */
  constructor(base: string, filesMax: number) {
    this.#base = base;
    this.#filesMax = filesMax;
  }

  /** Adds a folder recursively. @param to its name in the archive */
  addTree(
    folder: string,
    to = this.nameOf(folder),
    leavesOut: (name: string, above: string) => boolean = () => false,
  ): void {
    for (const entry of readdirSync(folder, { withFileTypes: true })) {
      if (leavesOut(entry.name, folder)) continue;
      const file = path.join(folder, entry.name);
      const name = to === '' ? entry.name : `${to}/${entry.name}`;
      if (entry.isDirectory()) this.addTree(file, name, leavesOut);
      else if (entry.isFile() || entry.isSymbolicLink()) this.add(file, name);
    }
  }

  add(file: string, name = this.nameOf(file)): void {
    const info = lstatSync(file);
    const target = info.isSymbolicLink() ? this.#targetOf(file, name) : null;
    if (target === '') return;
    this.#keep(name, file, info, target);
  }

  nameOf(file: string): string {
    return path.relative(this.#base, file).split(path.sep).join('/');
  }

  holds(file: string): boolean {
    return file === this.#base || file.startsWith(this.#base + path.sep);
  }

  /** The target of a link; '' if it is broken or leads outside, in which case it is skipped. */
  #targetOf(file: string, name: string): string {
    let end: string;
    try {
      end = realpathSync(file);
    } catch {
      return '';
    }
    if (!this.holds(end)) return '';
    const plain = readlinkSync(file);
    if (!path.isAbsolute(plain) && this.nameOf(file) === name) return plain;
    return path.posix.relative(path.posix.dirname(name), this.nameOf(end));
  }

  #keep(name: string, file: string, info: Stats, target: string | null): void {
    const isExecutable = (info.mode & 0o100) !== 0;
    this.files.set(name, { name, file, bytes: target === null ? info.size : 0, isExecutable, target });
    if (this.files.size > this.#filesMax)
      throw new BuildError(
        'too_large',
        `The server has more than ${this.#filesMax} files; BUILD_ARTIFACT_MAX_FILES allows ${this.#filesMax}`,
      );
  }
}

/** @throws {BuildError} when a package is outside the workspace, or no packages are installed. */
export function addProject(into: ServerFiles, root: string): void {
  const leavesOut = (name: string, above: string): boolean =>
    LEFT_OUT.test(name) || isVariables(name) || (path.basename(above) === '.next' && LEFT_OUT_OF_NEXT.has(name));
  const added = new Set<string>();
  const waiting = [root];
  for (let folder = waiting.pop(); folder !== undefined; folder = waiting.pop()) {
    if (added.has(folder)) continue;
    added.add(folder);
    into.addTree(folder, undefined, leavesOut);
    const { dependencies = {}, optionalDependencies = {}, peerDependencies = {} } = readPackage(folder);
    for (const name of new Set([
      ...Object.keys(dependencies),
      ...Object.keys(optionalDependencies),
      ...Object.keys(peerDependencies),
    ])) {
      const found = findPackage(into, folder, name);
      if (found !== null) waiting.push(found);
      else if (Object.hasOwn(dependencies, name) && folder === root)
        throw new BuildError(
          'unresolved_import',
          `package.json depends on "${name}", which is not installed: install the dependencies before the build`,
        );
    }
  }
  addPrograms(into, root, added);
}

/** Finds the folder from which code in a folder would load a package. Links on the path are added to the archive. */
function findPackage(into: ServerFiles, from: string, name: string): string | null {
  for (let folder = from; into.holds(folder); folder = path.dirname(folder)) {
    const candidate = path.join(folder, 'node_modules', name);
    const info = lstatSync(candidate, { throwIfNoEntry: false });
    if (info === undefined) continue;
    const real = realpathSync(candidate);
    if (!into.holds(real))
      throw new BuildError('outside', `The package "${name}" is a link to ${real}, outside the project: install it`);
    if (info.isSymbolicLink()) into.add(candidate);
    return real;
  }
  return null;
}

/** Executables that `start` may call by name. */
function addPrograms(into: ServerFiles, root: string, packages: ReadonlySet<string>): void {
  const folder = path.join(root, 'node_modules', '.bin');
  for (const name of lstatSync(folder, { throwIfNoEntry: false }) === undefined ? [] : readdirSync(folder)) {
    const file = path.join(folder, name);
    const isLink = lstatSync(file).isSymbolicLink();
    if (!isLink || isOf(packages, file)) into.add(file);
  }
}

function isOf(packages: ReadonlySet<string>, link: string): boolean {
  try {
    for (let at = realpathSync(link); at !== path.dirname(at); at = path.dirname(at)) if (packages.has(at)) return true;
  } catch {
    // A broken link.
  }
  return false;
}

function readPackage(folder: string): PackageFile {
  try {
    return JSON.parse(readTextSync(path.join(folder, 'package.json'))) as PackageFile;
  } catch {
    return {};
  }
}
