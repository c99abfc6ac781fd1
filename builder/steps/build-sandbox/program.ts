// Packs the platform's build program with its packages into one archive for sandboxes. Builds on this machine see the
// same files read-only (own-folders.ts). Called by machine.ts.
import { spawn } from 'node:child_process';
import { createHash } from 'node:crypto';
import { once } from 'node:events';
import { existsSync, readFileSync } from 'node:fs';
import { readdir, stat } from 'node:fs/promises';
import { dirname, join, relative } from 'node:path';
import { buffer } from 'node:stream/consumers';
import { CHILD, packageHome } from '../own-folders.ts';
import type { PackedProgram } from '../types.ts';

/** Our own folders, relative to the root. */
const FOLDERS = ['builder', 'core', 'artifacts/archive', 'packages'] as const;
/** Packages that the platform's folders import. */
const PACKAGES = [
  'rolldown',
  'yaml',
  'mrmime',
  'jsonc-parser',
  'unenv',
  'readable-stream',
  'buffer',
  'croner',
  '@netlify/build-info',
] as const;
/** Files that no program reads. */
const LEFT_OUT = /\.(?:map|md|d\.[mc]?ts|tsbuildinfo)$/i;

let packed: Promise<PackedProgram> | null = null;

/** The program of this platform; its files do not change while it runs. */
export function buildProgram(): Promise<PackedProgram> {
  return (packed ??= findProgram(join(import.meta.dirname, '../../..')));
}

async function findProgram(root: string): Promise<PackedProgram> {
  const base = packageHome(root) ?? root;
  const found: string[] = [join(root, 'package.json')];
  for (const folder of FOLDERS)
    if (existsSync(join(root, folder))) await addFiles(join(root, folder), found, () => true);
  for (const folder of packageFolders(root, PACKAGES)) await addFiles(folder, found, (file) => !LEFT_OUT.test(file));
  const hash = createHash('sha256');
  for (const file of found) {
    const { size, mtimeMs } = await stat(file);
    hash.update(`${relative(base, file)}\0${size}\0${mtimeMs}\0`);
  }
  const list = Buffer.from(found.map((file) => `${relative(base, file)}\0`).join(''));
  let archive: Promise<Buffer> | null = null;
  return {
    hash: hash.digest('hex').slice(0, 16),
    script: relative(base, CHILD),
    bytes: () => (archive ??= pack(base, list)),
  };
}

async function pack(base: string, list: Buffer): Promise<Buffer> {
  const owner = ['--owner=0', '--group=0'];
  const words = ['--use-compress-program=gzip -1', '-c', '-h', '--format=gnu', ...owner, '-C', base];
  const tar = spawn('tar', [...words, '--null', '--no-recursion', '-T', '-'], { stdio: ['pipe', 'pipe', 'ignore'] });
  const exited = once(tar, 'exit') as Promise<[number | null]>;
  tar.stdin.on('error', () => {}).end(list);
  const [bytes, [code]] = await Promise.all([buffer(tar.stdout), exited]);
  if (code !== 0) throw new Error(`The build program cannot be packed: tar exited with ${code}`);
  return bytes;
}

/** Folders of packages and their dependencies, resolved as Node does. */
function packageFolders(root: string, names: readonly string[]): ReadonlySet<string> {
  const folders = new Set<string>();
  const waiting = names.map((name) => [root, name] as const);
  for (let next = waiting.pop(); next !== undefined; next = waiting.pop()) {
    const [from, name] = next;
    const folder = findPackage(from, name);
    // A missing package is optional, or for another architecture.
    if (folder === null || folders.has(folder)) continue;
    folders.add(folder);
    const manifest = JSON.parse(readFileSync(join(folder, 'package.json'), 'utf8')) as Record<string, object>;
    for (const kind of ['dependencies', 'optionalDependencies', 'peerDependencies'])
      for (const needed of Object.keys(manifest[kind] ?? {})) waiting.push([folder, needed]);
  }
  return folders;
}

function findPackage(from: string, name: string): string | null {
  for (let at = from; ; at = dirname(at)) {
    const folder = join(at, 'node_modules', name);
    if (existsSync(join(folder, 'package.json'))) return folder;
    if (at === dirname(at)) return null;
  }
}

/** Files in a folder, without nested packages, which are resolved by name. */
async function addFiles(folder: string, found: string[], wants: (file: string) => boolean): Promise<void> {
  for (const entry of (await readdir(folder, { withFileTypes: true })).toSorted((a, b) => (a.name < b.name ? -1 : 1))) {
    const path = join(folder, entry.name);
    if (entry.isDirectory()) {
      if (entry.name !== 'node_modules') await addFiles(path, found, wants);
    } else if (entry.isFile() && wants(path)) found.push(path);
  }
}
