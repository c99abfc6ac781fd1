// Versions of the program in the releases of a machine, as `platform upgrade` installs them: copies of this checkout.
import { execFileSync } from 'node:child_process';
import { mkdirSync, readdirSync, readFileSync, symlinkSync, writeFileSync } from 'node:fs';
import path from 'node:path';
import { root } from '#cli/tasks/tools/processes.ts';

/** What a version has that this one has not. */
interface Difference {
  readonly version?: string;
  /** Text of one migration more. */
  readonly migration?: string;
  /** It ends as soon as it is started. */
  readonly isBroken?: boolean;
}

const LEFT_OUT = new Set(['.git', 'node_modules', 'test', 'bench', 'docs', 'examples', 'dist']);

/** Copies this checkout as a version. @returns its folder. */
export function copyProgram(folder: string, { version, migration, isBroken }: Difference): string {
  mkdirSync(folder, { recursive: true });
  const names = readdirSync(root).filter((name) => !LEFT_OUT.has(name) && !name.startsWith('.'));
  execFileSync('cp', ['-R', ...names.map((name) => path.join(root, name)), folder]);
  symlinkSync(path.join(root, 'node_modules'), path.join(folder, 'node_modules'));
  const file = path.join(folder, 'package.json');
  writeFileSync(
    file,
    JSON.stringify({
      ...(JSON.parse(readFileSync(file, 'utf8')) as object),
      ...(version !== undefined && { version }),
    }),
  );
  if (migration !== undefined) {
    const migrations = path.join(folder, 'postgres/migrations');
    const next = readdirSync(migrations).filter((name) => name.endsWith('.sql')).length + 1;
    writeFileSync(path.join(migrations, `${String(next).padStart(6, '0')}_later.sql`), migration);
  }
  if (isBroken === true)
    writeFileSync(path.join(folder, 'runtime/supervisor/main.ts'), "console.error('broken'); process.exit(1);\n");
  return folder;
}

/**
 * Puts a program into the releases of a machine; not below node_modules, where Node runs no TypeScript.
 *
 * @returns its folder.
 */
export function installProgram(program: string, home: string, name: string): string {
  const place = path.join(home, 'releases', name);
  mkdirSync(place, { recursive: true });
  execFileSync('cp', ['-a', '--link', program, path.join(place, 'program')]);
  return path.join(place, 'program');
}
