// A project as users have it, in a folder of its own, and what TypeScript says about it. One run of the compiler loads
// libraries and packages once: tests that want the same settings share it, each with its own file.
import { mkdir, mkdtemp, rm, symlink, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { compilerPath } from '#cli/tasks/tools/compiler.ts';
import { root, runProgram } from '#cli/tasks/tools/processes.ts';

/** What TypeScript says about a file of a project and about what lies outside of all its files; empty: nothing. */
export type Said = (file: string) => string;

/** The settings of projects that import packages of ours. */
export const strictSettings = JSON.stringify({
  compilerOptions: {
    target: 'es2024',
    lib: ['es2024'],
    module: 'esnext',
    moduleResolution: 'bundler',
    types: ['@platform-run/types'],
    noEmit: true,
    strict: true,
    exactOptionalPropertyTypes: true,
    noUncheckedIndexedAccess: true,
    allowImportingTsExtensions: true,
    skipLibCheck: true,
  },
  include: ['*.ts'],
});

/**
 * Checks a project.
 *
 * @param files texts by path; tsconfig.json is one of them.
 * @param packages folders of packages/ that it has installed.
 * @param libraries folders of node_modules/ that it has installed.
 */
export async function checkProject(
  files: Readonly<Record<string, string>>,
  packages: readonly string[],
  libraries: readonly string[] = [],
): Promise<Said> {
  const folder = await mkdtemp(path.join(tmpdir(), 'types-'));
  try {
    const installed = path.join(folder, 'node_modules');
    await mkdir(path.join(installed, '@platform-run'), { recursive: true });
    for (const name of packages)
      await symlink(path.join(root, 'packages', name), path.join(installed, '@platform-run', name));
    for (const name of libraries) await symlink(path.join(root, 'node_modules', name), path.join(installed, name));
    for (const [name, text] of Object.entries(files)) {
      await mkdir(path.dirname(path.join(folder, name)), { recursive: true });
      await writeFile(path.join(folder, name), text);
    }
    const { code, output } = await runProgram(await compilerPath(), ['-p', folder, '--singleThreaded'], {
      cwd: folder,
    });
    if (code !== 0 && output === '') throw new Error(`tsc ended with ${code} and said nothing`);
    return (file) => findingsOf(output, file, Object.keys(files));
  } finally {
    await rm(folder, { recursive: true });
  }
}

/** The lines of a file in which there are errors, in their order. */
export function linesOf(said: string, file: string): number[] {
  const lines = said.split('\n').filter((line) => line.startsWith(`${file}(`));
  return [...new Set(lines.map((line) => Number(line.slice(file.length + 1, line.indexOf(',')))))];
}

/** Each finding begins at the left, and its explanation is indented. */
function findingsOf(output: string, file: string, files: readonly string[]): string {
  const others = files.filter((one) => one !== file);
  return output
    .split(/^(?=\S)/m)
    .filter((finding) => !others.some((other) => finding.startsWith(`${other}(`)))
    .join('');
}
