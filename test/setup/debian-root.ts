// Debian 13 as a folder, as `debootstrap` makes it, for images of the container engines of tests: there is no registry
// to take one from. Made once and kept in the cache folder, with each list of packages on its own.
import { execFile } from 'node:child_process';
import { chmodSync, cpSync, existsSync, mkdirSync, mkdtempSync, renameSync, rmSync, writeFileSync } from 'node:fs';
import path from 'node:path';
import { promisify } from 'node:util';
import { root } from '#cli/tasks/tools/processes.ts';

const runProgram = promisify(execFile);
const RELEASE = 'trixie';
const CA_FILE = '/etc/ssl/certs/ca-certificates.crt';
const OUTPUT_BYTES_MAX = 64 * 1024 * 1024;
/** Of Debian's own images, too: unpacked files are not waited for on the disk, documentation is left out. */
const DPKG_SETTINGS = 'force-unsafe-io\npath-exclude /usr/share/doc/*\npath-exclude /usr/share/man/*\n';

/** Needs root. @param packages besides those of every Debian, and `ca-certificates`. */
export async function debianRoot(packages: readonly string[] = []): Promise<string> {
  const cache = path.join(root, '.cache');
  const folder = path.join(cache, ['debian', RELEASE, ...packages.toSorted()].join('-'));
  if (existsSync(folder)) return folder;
  mkdirSync(cache, { recursive: true });
  const base = packages.length === 0 ? null : await debianRoot();
  const unfinished = mkdtempSync(path.join(cache, 'unfinished-'));
  try {
    chmodSync(unfinished, 0o755);
    if (base === null) await bootstrap(unfinished);
    else await install(base, unfinished, packages);
    rmSync(`${unfinished}/var/cache/apt/archives`, { recursive: true, force: true });
    mkdirSync(`${unfinished}/var/cache/apt/archives/partial`, { recursive: true });
    renameSync(unfinished, folder);
  } catch (error) {
    rmSync(unfinished, { recursive: true, force: true });
    throw error;
  }
  return folder;
}

async function bootstrap(folder: string): Promise<void> {
  await run('debootstrap', '--variant=minbase', '--include=ca-certificates', RELEASE, folder);
  // The authorities of this machine: a proxy of its own may stand before the registry.
  cpSync(CA_FILE, `${folder}${CA_FILE}`);
  for (const name of ['doc', 'man']) rmSync(`${folder}/usr/share/${name}`, { recursive: true, force: true });
  writeFileSync(`${folder}/etc/dpkg/dpkg.cfg.d/container`, DPKG_SETTINGS);
}

/** A second `debootstrap` takes a minute. */
async function install(base: string, folder: string, packages: readonly string[]): Promise<void> {
  await run('cp', '--archive', '--reflink=auto', '--no-target-directory', base, folder);
  const words = ['-qq', '-o', 'Dpkg::Use-Pty=0', '--no-install-recommends', '--yes'];
  await run('chroot', folder, 'apt-get', 'update', '-qq');
  await run('chroot', folder, 'env', 'DEBIAN_FRONTEND=noninteractive', 'apt-get', 'install', ...words, ...packages);
  rmSync(`${folder}/var/lib/apt/lists`, { recursive: true, force: true });
  mkdirSync(`${folder}/var/lib/apt/lists/partial`, { recursive: true });
}

const run = (program: string, ...words: string[]): Promise<unknown> =>
  runProgram(program, words, { maxBuffer: OUTPUT_BYTES_MAX });
