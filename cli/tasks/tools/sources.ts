// Reads the text files of a checkout once, as a record of path -> text, for the tidy rules and the figures. Not packed.
import { readdirSync, readFileSync } from 'node:fs';
import path from 'node:path';

/** Text by path; paths are relative to the checkout, with `/`. */
export type Sources = Readonly<Record<string, string>>;

const skippedFolders = new Set(['node_modules', '.git', '.platform', '.cache', 'dist', 'prebuilt']);
const textFile =
  /\.(?:ts|tsx|mts|js|mjs|cc|h|json|md|sql|ya?ml|html|css|sh|txt)$|(?:^|\/)(?:\.npmrc|\.gitignore|LICENSE)$|^\.ci\/[\w-]+$/;

/** All text files of a checkout, sorted, without installed and generated ones. */
export function readSources(root: string): Sources {
  const sources: Record<string, string> = {};
  const visit = (folder: string): void => {
    const entries = readdirSync(path.join(root, folder), { withFileTypes: true });
    for (const entry of entries.toSorted((a, b) => (a.name < b.name ? -1 : 1))) {
      const file = folder === '' ? entry.name : `${folder}/${entry.name}`;
      if (entry.isDirectory()) {
        if (!skippedFolders.has(entry.name)) visit(file);
      } else if (entry.isFile() && textFile.test(file)) {
        sources[file] = readFileSync(path.join(root, file), 'utf8');
      }
    }
  };
  visit('');
  return sources;
}

/** Whether a file is a module of this repository, not a fixture, template, example or framework bundle. */
export function isOwnModule(file: string): boolean {
  return (
    /\.(?:ts|tsx|mts|mjs|js)$/.test(file) &&
    !/^(?:test\/fixtures|test\/frameworks\/apps|test\/wpt|packages\/create\/templates|examples|packages\/[a-z]+\/runtime)\//.test(
      file,
    )
  );
}

/** Folders with an entry point and otherwise only subfolders: of processes, and top-level ones. */
export const entryFolders: readonly string[] = [
  'runtime',
  'runtime/engine',
  'runtime/supervisor',
  'runtime/broker',
  'runtime/databases',
  'runtime/dev',
  'control',
  'gateway',
  'sandbox',
  'cli',
  'builder',
];
/** Other files allowed in such a folder. */
const entries = ['main', 'handler', 'engine', 'run', 'README', 'package', 'tsconfig'];

/** Whether a file in such a folder is not allowed. */
export function isLoose(file: string): boolean {
  const folder = path.posix.dirname(file);
  if (!entryFolders.includes(folder)) return false;
  const name = path.posix.basename(file);
  const stem = name.slice(0, name.indexOf('.', 1));
  return !entries.includes(stem) && stem !== path.posix.basename(folder);
}
