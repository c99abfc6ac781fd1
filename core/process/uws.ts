// The uWebSockets.js binary that `platform listener install` stores in the data folder: its pinned version and hash,
// its path, and whether this system can load it. Read by the command, by engines before they load it, by `start` and by
// `doctor`.
import { createHash } from 'node:crypto';
import { readFileSync } from 'node:fs';
import { createRequire } from 'node:module';
import path from 'node:path';

/** The pinned package: a third party's copy on npm, because the author publishes only on a Git host. */
export const UWS_PACKAGE = {
  spec: 'uwebsockets@3.0.6',
  /** Of its archive. */
  integrity: 'sha512-0Nw22DDOd1YGnJ8/IHYVCDHZXAVqLnjBxktl2bSjcJRVcgasb2Zs8WCRhL41IydraLLq001c6ycHdIS+rEcAxw==',
  archiveBytes: 97_814_027,
  licence: 'Apache-2.0',
} as const;

/** The glibc version that the binaries require. */
const GLIBC_MIN = [2, 38] as const;

interface Binary {
  readonly bytes: number;
  readonly sha256: string;
}

/** The binaries by system, processor and Node's ABI. */
const binaries: Readonly<Record<string, Binary>> = {
  linux_x64_137: {
    bytes: 7_307_432,
    sha256: '3b549c14e01d9d1faf234cdf4b6f0fb08158605e3692cd0eb1b905e327bd3449',
  },
  linux_arm64_137: {
    bytes: 7_029_632,
    sha256: 'b6eb007d627e00bcce03ad38f197124e9027c03f6fe784b37f97b8a6ea709cb4',
  },
};

/** Properties of a system that decide whether it can load the binary. */
export interface UwsSystem {
  readonly platform: string;
  readonly arch: string;
  readonly abi: string;
  /** Version of glibc; undefined if the system has another C library. */
  readonly glibc: string | undefined;
}

export function uwsSystem(): UwsSystem {
  // Without this option, the report resolves the host names of all connections.
  Object.assign(process.report, { excludeNetwork: true });
  const { header } = process.report.getReport() as { header: { glibcVersionRuntime?: string } };
  const { platform, arch, versions } = process;
  return { platform, arch, abi: versions.modules, glibc: header.glibcVersionRuntime };
}

/** Why this system cannot load uWebSockets.js, or null. */
export function uwsProblem({ platform, arch, abi, glibc }: UwsSystem): string | null {
  if (!Object.hasOwn(binaries, `${platform}_${arch}_${abi}`))
    return `uWebSockets.js is pinned for Node 24 on Linux (x64, arm64), and this is ABI ${abi} on ${platform} ${arch}`;
  const needed = `uWebSockets.js requires glibc ${GLIBC_MIN.join('.')}`;
  if (glibc === undefined) return `${needed}, and this system has another C library`;
  const [major = 0, minor = 0] = glibc.split('.').map(Number);
  const isNew = major > GLIBC_MIN[0] || (major === GLIBC_MIN[0] && minor >= GLIBC_MIN[1]);
  return isNew ? null : `${needed}, and this system has ${glibc}`;
}

/** The binary of this system, as the package names it. */
export function uwsName({ platform, arch, abi }: Omit<UwsSystem, 'glibc'>): string {
  return `uws_${platform}_${arch}_${abi}.node`;
}

/** The pinned size and hash of a binary; null if it is not pinned. */
export function pinnedUws(name: string): Binary | null {
  const key = name.slice('uws_'.length, -'.node'.length);
  return Object.hasOwn(binaries, key) ? binaries[key]! : null;
}

const UWS_NAME = 'uWebSockets.js';

/** Whether the library is installed as a package, as in the container images. */
export function hasUwsPackage(): boolean {
  try {
    createRequire(import.meta.url).resolve(UWS_NAME);
    return true;
  } catch {
    return false;
  }
}

/** Where `platform listener install` stores the binary. */
export function uwsFolder(dataFolder: string): string {
  return path.join(dataFolder, 'listener');
}

/**
 * The binary in a data folder, checked against the pinned hash at each call: it runs inside the engine.
 *
 * @returns the file, or the reason why it cannot be loaded.
 */
export function installedUws(dataFolder: string): { readonly file: string } | { readonly reason: string } {
  const { platform, arch, versions } = process;
  const name = uwsName({ platform, arch, abi: versions.modules });
  const file = path.join(uwsFolder(dataFolder), name);
  let content: Buffer;
  try {
    content = readFileSync(file);
  } catch (error) {
    const { code, message } = error as NodeJS.ErrnoException;
    return { reason: code === 'ENOENT' ? 'uWebSockets.js is not installed' : message };
  }
  if (sha256(content) !== pinnedUws(name)?.sha256)
    return { reason: `${file} has another hash than this version pins: run \`platform listener install\`` };
  return { file };
}

export function sha256(content: Uint8Array): string {
  return createHash('sha256').update(content).digest('hex');
}
