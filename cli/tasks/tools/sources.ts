// The text files of a checkout, read once: what the tidy rules and the figures judge, as a record of path -> text. Not
// packed.
import { readdirSync, readFileSync } from 'node:fs';
import path from 'node:path';

/** Text by path; paths are relative to the checkout, with `/`. */
export type Sources = Readonly<Record<string, string>>;

const skippedFolders = new Set(['node_modules', '.git', '.platform', '.cache', 'dist', 'prebuilt']);
const textFile =
  /\.(?:ts|tsx|mts|js|mjs|cc|h|json|md|sql|ya?ml|html|css|sh|txt)$|(?:^|\/)(?:\.npmrc|\.gitignore|LICENSE)$/;

/** Every text file of a checkout in the order of the alphabet, installed and generated ones left out. */
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

/** A module that this repository writes and loads: no fixture, template or example, and nothing a framework bundles. */
export function isOwnModule(file: string): boolean {
  return (
    /\.(?:ts|tsx|mts|mjs|js)$/.test(file) &&
    !/^(?:test\/fixtures|test\/frameworks\/apps|test\/wpt|cli\/templates|examples|packages\/[a-z]+\/runtime)\//.test(
      file,
    )
  );
}

/** The folders that hold an entry and otherwise only folders: of processes, and top-level ones. */
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
/** What may lie in such a folder besides the file named like it. */
const entries = ['main', 'handler', 'engine', 'run', 'README', 'package', 'tsconfig'];

/** Whether a file lies directly in a folder of entries and is none. */
export function isLoose(file: string): boolean {
  const folder = path.posix.dirname(file);
  if (!entryFolders.includes(folder)) return false;
  const name = path.posix.basename(file);
  const stem = name.slice(0, name.indexOf('.', 1));
  return !entries.includes(stem) && stem !== path.posix.basename(folder);
}
