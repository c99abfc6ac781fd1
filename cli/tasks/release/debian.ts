// A Debian package with a release archive and install.sh, which installs, upgrades and removes the platform as without
// the package. Called by `npm run pack -- archive --deb`.
import { copyFileSync, existsSync, mkdirSync, rmSync, statSync, writeFileSync } from 'node:fs';
import path from 'node:path';
import { runProgram } from '../tools/processes.ts';
import type { ArchiveSystem } from './archive.ts';

const architectures: Readonly<Record<ArchiveSystem, string>> = { 'linux-x64': 'amd64', 'linux-arm64': 'arm64' };
/** The files next to the archive: its checksum, and the signature if there is one. */
const BESIDES = ['.sha256', '.sha256.sig'];

/**
 * Creates the package next to an archive. The package is reproducible, as the archive is.
 *
 * @param installer `install.sh`.
 * @param seconds the time of the files, in seconds since 1970.
 * @returns the package, such as `platform_0.2.0_amd64.deb`.
 * @throws {Error} when `dpkg-deb` is not installed, or fails.
 */
export async function packDebian(
  archive: string,
  installer: string,
  system: ArchiveSystem,
  version: string,
  seconds: number,
): Promise<string> {
  const architecture = architectures[system];
  const out = path.dirname(archive);
  const staging = path.join(out, `debian-${architecture}`);
  const share = path.join(staging, 'usr/share/platform');
  const file = path.join(out, `platform_${version}_${architecture}.deb`);
  rmSync(staging, { recursive: true, force: true });
  try {
    mkdirSync(path.join(staging, 'DEBIAN'), { recursive: true });
    mkdirSync(share, { recursive: true });
    for (const one of [archive, ...BESIDES.map((end) => archive + end).filter((name) => existsSync(name))])
      copyFileSync(one, path.join(share, path.basename(one)));
    copyFileSync(installer, path.join(share, 'install.sh'));
    const size = Math.ceil(statSync(archive).size / 1024);
    writeFileSync(path.join(staging, 'DEBIAN/control'), control(version, architecture, size));
    const scripts = {
      // With DPKG_ROOT, dpkg installs into another folder.
      postinst: `[ "$1" != configure ] || sh "\${DPKG_ROOT:-}/usr/share/platform/install.sh" "\${DPKG_ROOT:-}/usr/share/platform/${path.basename(archive)}"`,
      prerm: `[ "$1" != remove ] || sh "\${DPKG_ROOT:-}/usr/share/platform/install.sh" --uninstall`,
    };
    for (const [name, line] of Object.entries(scripts))
      writeFileSync(path.join(staging, 'DEBIAN', name), `#!/bin/sh\nset -e\n${line}\n`, { mode: 0o755 });
    // The package is not compressed, because the archive already is.
    const words = ['--root-owner-group', '-Znone', '--build', staging, file];
    const { code, output } = await runProgram('dpkg-deb', words, {
      env: { ...process.env, SOURCE_DATE_EPOCH: String(seconds) },
    });
    if (code !== 0) throw new Error(`dpkg-deb could not create ${path.basename(file)}:\n${output}`);
    return file;
  } finally {
    rmSync(staging, { recursive: true, force: true });
  }
}

function control(version: string, architecture: string, kilobytes: number): string {
  return [
    'Package: platform',
    `Version: ${version}`,
    `Architecture: ${architecture}`,
    `Installed-Size: ${kilobytes}`,
    'Maintainer: the platform project',
    'Depends: git, libc6 (>= 2.28), tar, gzip',
    'Section: net',
    'Priority: optional',
    'Description: self-hosted serverless platform',
    ' Runs each worker in its own V8 isolate, with databases, queues, workflows and files. The package installs the',
    ' release archive that it holds: the program in /opt/platform, data in /var/lib/platform.',
    '',
  ].join('\n');
}
