// The files the tidy rules judge: a record of path -> text, read from a checkout or written down by a test.
import { readdirSync, readFileSync } from 'node:fs';
import path from 'node:path';

/** Text by path; paths are relative to the checkout, with `/`. */
export type Sources = Readonly<Record<string, string>>;

/** Something a rule objects to. */
export interface Finding {
  readonly file: string;
  /** From 1; 0 when it concerns the whole file. */
  readonly line: number;
  /** What is wrong and what to do instead. */
  readonly message: string;
}

const skippedFolders = new Set(['node_modules', '.git', '.platform', '.cache', 'dist', 'prebuilt']);
const textFile = /\.(?:ts|mts|js|mjs|json|md|sql|ya?ml|html|css|sh|txt)$|(?:^|\/)(?:\.npmrc|\.gitignore|LICENSE)$/;

/** Every text file of a checkout, installed and generated ones left out. */
export function readSources(root: string): Sources {
  const sources: Record<string, string> = {};
  const visit = (folder: string): void => {
    for (const entry of readdirSync(path.join(root, folder), { withFileTypes: true })) {
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

/** Our own modules: what is ours to keep in order, so no fixtures, templates or examples. */
export function isOwnModule(file: string): boolean {
  return /\.(?:ts|mts|mjs|js)$/.test(file) && !/^(?:test\/fixtures|test\/wpt|cli\/templates|examples)\//.test(file);
}

/** The line, from 1, of an offset. */
export function lineAt(text: string, offset: number): number {
  return text.slice(0, offset).split('\n').length;
}

/** One line of a report. */
export function formatFinding({ file, line, message }: Finding): string {
  return `${file}${line === 0 ? '' : `:${line}`} ${message}`;
}
