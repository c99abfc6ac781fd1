// Collects the files of a program for sandboxes: an entry point with all imported modules, and the agent's own
// programs. Used by backends whose machines do not share this disk.
import { readFileSync } from 'node:fs';
import path from 'node:path';
import { padding, tarHeader } from '#core/archive/tar-header.ts';
import { OWN_PROGRAMS } from '../agent/own-programs.ts';
import { TERMINAL_ARCHITECTURES, terminalProgram } from '../agent/terminal/program.ts';

const ROOT = path.join(import.meta.dirname, '../..');
/** Suffix of our modules: `.js` in a packed installation. */
export const SOURCE_SUFFIX = import.meta.filename.endsWith('.ts') ? '.ts' : '.js';
/** `import ... from '<specifier>'` and `export ... from`, for values, and `import('<specifier>')`. */
const IMPORTS = /^(?:import|export)\s+(?!type\s)(?:[^'";]*?\sfrom\s+)?['"]([^'"]+)['"]|\bimport\('([^']+)'\)/gm;

/** Files for every supported architecture, because a provider's machine may differ from this machine. */
const executables: readonly string[] = [...TERMINAL_ARCHITECTURES.map(terminalProgram), ...OWN_PROGRAMS];

/**
 * @param entry path relative to the root. @returns the file contents by path relative to the root, with a package.json.
 * @throws {Error} when the program imports an npm package, since sandboxes have none.
 */
export function readProgram(entry: string): ReadonlyMap<string, Buffer> {
  const files = new Map<string, Buffer>();
  const take = (file: string): void => {
    if (files.has(file)) return;
    const bytes = readFileSync(path.join(ROOT, file));
    files.set(file, bytes);
    for (const [, named, loaded] of bytes.toString().matchAll(IMPORTS)) {
      const specifier = (named ?? loaded)!;
      if (specifier.startsWith('.')) take(path.posix.join(path.posix.dirname(file), specifier));
      else if (specifier.startsWith('#')) take(specifier.slice(1).replace(/\.ts$/, SOURCE_SUFFIX));
      else if (!specifier.startsWith('node:')) throw new Error(`${file} imports ${specifier}, which no sandbox has`);
    }
  };
  take(entry);
  for (const file of executables) files.set(file, readFileSync(path.join(ROOT, file)));
  files.set('package.json', Buffer.from('{"type":"module","imports":{"#core/*":"./core/*"}}'));
  return files;
}

/** Tar entries of the files, without the end marker. */
export function* programArchive(files: ReadonlyMap<string, Buffer>): Generator<Buffer> {
  for (const [file, bytes] of files) {
    const isExecutable = executables.includes(file);
    yield* [tarHeader(file, bytes.length, { isExecutable }), bytes, Buffer.alloc(padding(bytes.length))];
  }
}
