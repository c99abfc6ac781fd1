// Packed programs of this and of an earlier commit, for tests of upgrades: the tarballs that users install, and
// programs unpacked from them over the dependencies of the checkout.
import assert from 'node:assert/strict';
import { execFileSync, spawnSync } from 'node:child_process';
import { mkdirSync, readdirSync, symlinkSync, writeFileSync } from 'node:fs';
import path from 'node:path';
import { pack } from '#cli/tasks/pack.ts';
import { root } from '#cli/tasks/tools/processes.ts';

/** Packs this checkout. @returns the tarball of the program. */
export async function packThis(folder: string): Promise<string> {
  return programIn(await pack(folder));
}

/** Packs a commit of this repository. @returns the tarball; null where the commit is not there (a shallow clone). */
export function packCommit(commit: string, folder: string): string | null {
  const source = path.join(folder, 'source');
  mkdirSync(source, { recursive: true });
  if (spawnSync('git', ['cat-file', '-e', `${commit}^{commit}`], { cwd: root }).status !== 0) return null;
  const tar = path.join(folder, 'source.tar');
  execFileSync('git', ['archive', '-o', tar, commit], { cwd: root });
  execFileSync('tar', ['xf', tar, '-C', source]);
  symlinkSync(path.join(root, 'node_modules'), path.join(source, 'node_modules'));
  const packed = spawnSync(process.execPath, [path.join(source, 'cli/run.mjs'), ':pack'], {
    cwd: source,
    encoding: 'utf8',
  });
  assert.equal(packed.status, 0, packed.stderr);
  return programIn(readdirSync(path.join(source, 'dist')).map((name) => path.join(source, 'dist', name)));
}

function programIn(tarballs: readonly string[]): string {
  return tarballs.find((file) => path.basename(file).startsWith('platform-run-cli-'))!;
}

/** Unpacks a program where npm would put it. @returns its folder. */
export function unpack(tarball: string, folder: string): string {
  const program = path.join(folder, 'node_modules/@platform-run/cli');
  mkdirSync(program, { recursive: true });
  execFileSync('tar', ['xzf', tarball, '--strip-components=1', '-C', program]);
  for (const name of readdirSync(path.join(root, 'node_modules'))) {
    if (name.startsWith('.') || name === '@platform-run') continue;
    symlinkSync(path.join(root, 'node_modules', name), path.join(folder, 'node_modules', name));
  }
  return program;
}

/** A tarball of a later version: one migration more, which says what it should and does it, or fails. */
export function withMigration(tarball: string, folder: string, sql: string): string {
  const inside = path.join(folder, 'package');
  mkdirSync(folder, { recursive: true });
  execFileSync('tar', ['xzf', tarball, '-C', folder]);
  const migrations = path.join(inside, 'postgres/migrations');
  const next = readdirSync(migrations).filter((name) => name.endsWith('.sql')).length + 1;
  writeFileSync(path.join(migrations, `${String(next).padStart(6, '0')}_later.sql`), sql);
  const later = path.join(folder, `later-${path.basename(folder)}.tgz`);
  execFileSync('tar', ['czf', later, '-C', folder, 'package']);
  return later;
}
