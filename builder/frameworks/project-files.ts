// File access for detection: names, and the first part of texts, of a folder on disk. Read-only.
import { closeSync, existsSync, openSync, readdirSync, readSync, statSync } from 'node:fs';
import path from 'node:path';
import { decodeText, isUtf16 } from '#core/text-file.ts';

/** Files by their paths relative to the repository, with `/`. */
export interface ProjectFiles {
  /** Names of files and folders in a folder; empty if it does not exist. */
  names(folder: string): readonly string[];
  /** The first part of a file; null if it does not exist. */
  text(file: string): string | null;
  /** The package.json texts of the parent folders within one repository; the nearest first. */
  manifestsAbove(): readonly string[];
}

/** Maximum bytes read per file, enough for package.json and lockfiles. */
const TEXT_BYTES_MAX = 5_000_000;

/** The files of a folder on disk, read lazily and once. */
export function filesIn(root: string): ProjectFiles {
  const texts = new Map<string, string | null>();
  const folders = new Map<string, readonly string[]>();
  return {
    names: (folder) => remembered(folders, folder, () => namesIn(path.join(root, folder))),
    text: (file) => remembered(texts, file, () => startOf(path.join(root, file))),
    manifestsAbove: () => manifestsAbove(root),
  };
}

/** Whether a path is one of the files or their folders. */
export function hasPath(files: ProjectFiles, file: string): boolean {
  return files.names(path.posix.dirname(file)).includes(path.posix.basename(file));
}

function remembered<Value>(kept: Map<string, Value>, key: string, read: () => Value): Value {
  if (!kept.has(key)) kept.set(key, read());
  return kept.get(key)!;
}

function manifestsAbove(root: string): string[] {
  const texts: string[] = [];
  for (let at = path.resolve(root); !existsSync(path.join(at, '.git')) && path.dirname(at) !== at;) {
    at = path.dirname(at);
    const text = startOf(path.join(at, 'package.json'));
    if (text !== null) texts.push(text);
  }
  return texts;
}

function namesIn(folder: string): string[] {
  try {
    return readdirSync(folder);
  } catch {
    return [];
  }
}

function startOf(file: string): string | null {
  if (statSync(file, { throwIfNoEntry: false })?.isFile() !== true) return null;
  const descriptor = openSync(file, 'r');
  try {
    const bytes = Buffer.alloc(Math.min(statSync(file).size, TEXT_BYTES_MAX));
    const read = bytes.subarray(0, readSync(descriptor, bytes));
    return isUtf16(read) ? decodeText(read.subarray(0, read.length & ~1), file) : new TextDecoder().decode(read);
  } finally {
    closeSync(descriptor);
  }
}
