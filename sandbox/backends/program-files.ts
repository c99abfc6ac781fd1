// The files of a program that runs inside sandboxes: an entry and every module that it reaches, as they lie here, and
// the agent's own programs. Used by backends whose machines do not see this disk.
import { readFileSync } from 'node:fs';
import path from 'node:path';
import { padding, tarHeader } from '#core/archive/tar-header.ts';
import { OWN_PROGRAMS } from '../agent/own-programs.ts';
import { TERMINAL_ARCHITECTURES, terminalProgram } from '../agent/terminal/program.ts';

const ROOT = path.join(import.meta.dirname, '../..');
/** Of our own modules: `.js` where they were packed. */
export const SOURCE_SUFFIX = import.meta.filename.endsWith('.ts') ? '.ts' : '.js';
/** `import ... from '<specifier>'` and `export ... from`, of values, and `import('<specifier>')`. */
const IMPORTS = /^(?:import|export)\s+(?!type\s)(?:[^'";]*?\sfrom\s+)?['"]([^'"]+)['"]|\bimport\('([^']+)'\)/gm;

/** For every machine that there is one for: a provider's may be another than this. */
const executables: readonly string[] = [...TERMINAL_ARCHITECTURES.map(terminalProgram), ...OWN_PROGRAMS];

/**
 * @param entry path from the root.
 * @returns bytes by path from the root, with a package.json.
 * @throws {Error} where it imports a package: no sandbox has any.
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

/** The entries of a tar file with them, without its end. */
export function* programArchive(files: ReadonlyMap<string, Buffer>): Generator<Buffer> {
  for (const [file, bytes] of files) {
    const isExecutable = executables.includes(file);
    yield* [tarHeader(file, bytes.length, { isExecutable }), bytes, Buffer.alloc(padding(bytes.length))];
  }
}
