// A release archive: the program, its packages, Node and Postgres in one file, for machines without Node and npm.
// Reproducible: the same commit gives the same bytes. Called by `npm run pack`; install.sh and `platform upgrade`
// install the archive.
import { createHash, createPrivateKey, createPublicKey, sign, type KeyObject } from 'node:crypto';
import {
  chmodSync,
  copyFileSync,
  createReadStream,
  existsSync,
  globSync,
  mkdirSync,
  readFileSync,
  rmSync,
  symlinkSync,
  writeFileSync,
} from 'node:fs';
import path from 'node:path';
import { pipeline } from 'node:stream/promises';
import { root, runProgram } from '../tools/processes.ts';
import { partsList, type LockedPackage } from './parts.ts';

/** Systems that have an archive. */
export const archiveSystems = ['linux-x64', 'linux-arm64'] as const;
export type ArchiveSystem = (typeof archiveSystems)[number];

/** Parts of packages that only builds of the package or other systems need. Paths in node_modules. */
const UNUSED = [
  '.package-lock.json',
  '.bin',
  'node-linux-*/{include,lib,share}',
  'better-sqlite3/{deps,src,binding.gyp}',
  'npm/{docs,man}',
  'isolated-vm/{src,vendor,native-example,scripts,*.tgz,Dockerfile.*,binding.gyp}',
];
/**
 * For builds on machines without npm. This version of npm requires the Node of the archive; the hash is that of
 * `npm view npm dist.integrity`.
 */
const NPM: LockedPackage & { readonly version: string } = {
  version: '11.21.2',
  integrity: 'sha512-7HPApk+AflMUavSseL1Pm6CnYqMIHk53x+KmuhqmTDqPkjPMgxIpTPcTqsE91EKNw4gFBJV9fnXiSdGm1DXq9A==',
};
/** Prebuilt binaries of packages, one file or folder for each system. */
const PREBUILT = ['better-sqlite3/prebuilds/*', 'isolated-vm/prebuilds/*'];

/**
 * Creates the archive of a system next to the tarballs, with its checksum (`.sha256`) and its list of parts
 * (`.spdx.json`); with a key, also the signature of the checksum (`.sha256.sig`) and the public key (`release.pub`).
 *
 * @param outFolder the folder with the tarballs of `npm run pack`.
 * @param key the result of {@link readSigningKey}; null creates no signature.
 * @returns the archive.
 * @throws {Error} when npm cannot install the packages of the lockfile for the system.
 */
export async function packArchive(
  outFolder: string,
  tarballs: readonly string[],
  system: ArchiveSystem,
  key: KeyObject | null,
): Promise<string> {
  const manifest = readJson(path.join(root, 'package.json')) as Manifest;
  const name = `platform-${manifest.version}-${system}`;
  const staging = path.join(outFolder, 'staging');
  const folder = path.join(staging, name);
  rmSync(staging, { recursive: true, force: true });
  try {
    const packages = await installPackages(folder, manifest, system);
    await unpackProgram(folder, tarballs);
    mkdirSync(path.join(folder, 'bin'));
    const install = path.join(folder, 'node_modules/@platform-run/cli/operations/install');
    copyFileSync(path.join(install, 'launcher.sh'), path.join(folder, 'bin/platform'));
    chmodSync(path.join(folder, 'bin/platform'), 0o755);
    for (const name of ['npm', 'npx'])
      symlinkSync(`../node_modules/npm/bin/${name}-cli.js`, path.join(folder, 'bin', name));
    mkdirSync(path.join(folder, 'install'));
    for (const file of ['place.sh', 'command.sh', 'pending.sh', 'platform.service', 'platform.socket'])
      copyFileSync(path.join(install, file), path.join(folder, 'install', file));
    writeJson(path.join(folder, 'release.json'), { version: manifest.version, system });
    const seconds = await commitSeconds();
    const parts = `${JSON.stringify(partsList(name, folder, packages, seconds), null, 1)}\n`;
    for (const file of [path.join(folder, 'parts.spdx.json'), path.join(outFolder, `${name}.spdx.json`)])
      writeFileSync(file, parts);
    if (key !== null) {
      const publicKey = createPublicKey(key).export({ type: 'spki', format: 'pem' });
      for (const at of [folder, outFolder]) writeFileSync(path.join(at, 'release.pub'), publicKey);
    }
    const archive = path.join(outFolder, `${name}.tar.gz`);
    await writeTar(archive, staging, name, seconds);
    const sums = Buffer.from(`${await hashOf(archive)}  ${path.basename(archive)}\n`);
    writeFileSync(`${archive}.sha256`, sums);
    if (key !== null) writeFileSync(`${archive}.sha256.sig`, sign(null, sums, key));
    return archive;
  } finally {
    rmSync(staging, { recursive: true, force: true });
  }
}

/** @param file a file with an Ed25519 private key in PEM. @throws {Error} if the file contains no such key. */
export function readSigningKey(file: string): KeyObject {
  try {
    const key = createPrivateKey(readFileSync(file));
    if (key.asymmetricKeyType === 'ed25519') return key;
  } catch (error) {
    throw new Error(`--key: ${file} is no private key: ${(error as Error).message}`, { cause: error });
  }
  throw new Error(`--key: ${file} is no Ed25519 key: openssl genpkey -algorithm ed25519 -out ${file}`);
}

interface Manifest {
  readonly version: string;
  readonly dependencies: Readonly<Record<string, string>>;
  readonly optionalDependencies: Readonly<Record<string, string>>;
  readonly overrides: unknown;
}

/** Installs the pinned packages of users, also for another system; npm verifies each package by its hash. */
async function installPackages(
  folder: string,
  { version, dependencies, optionalDependencies, overrides }: Manifest,
  system: ArchiveSystem,
): Promise<Readonly<Record<string, LockedPackage>>> {
  const needed = Object.entries(optionalDependencies).filter(
    ([name]) => name.endsWith(`-${system}`) || name.endsWith(`/${system}`),
  );
  const own = { name: 'platform', version, dependencies, optionalDependencies: Object.fromEntries(needed) };
  const lock = readJson(path.join(root, 'package-lock.json')) as {
    readonly packages: Readonly<
      Record<string, LockedPackage & { dev?: boolean; devOptional?: boolean; link?: boolean }>
    >;
  };
  const packages = Object.fromEntries(
    Object.entries(lock.packages).filter(
      ([place, { dev, devOptional, link }]) =>
        place.startsWith('node_modules/') &&
        dev !== true &&
        devOptional !== true &&
        link !== true &&
        !place.startsWith('node_modules/@typescript/'),
    ),
  );
  mkdirSync(folder, { recursive: true });
  writeJson(path.join(folder, 'package.json'), { ...own, private: true, overrides });
  writeJson(path.join(folder, 'package-lock.json'), {
    name: 'platform',
    version,
    lockfileVersion: 3,
    requires: true,
    packages: { '': own, ...packages },
  });
  const [os, cpu] = system.split('-') as [string, string];
  const words = [
    'ci',
    '--ignore-scripts',
    '--no-audit',
    '--no-fund',
    '--prefer-offline',
    `--os=${os}`,
    `--cpu=${cpu}`,
    '--libc=glibc',
  ];
  const { code, output } = await runProgram('npm', words, { cwd: folder });
  if (code !== 0) throw new Error(`npm could not install the packages of ${system}:\n${output}`);
  // npm omits optional packages that it cannot download.
  for (const [name] of [...needed, [`@rolldown/binding-${system}-gnu`]])
    if (!existsSync(path.join(folder, 'node_modules', name!)))
      throw new Error(`npm did not install ${name}: check the network and the registry`);
  for (const file of ['package.json', 'package-lock.json']) rmSync(path.join(folder, file));
  const modules = path.join(folder, 'node_modules');
  await addNpm(path.dirname(folder), path.join(modules, 'npm'));
  for (const file of globSync(UNUSED, { cwd: modules })) rmSync(path.join(modules, file), { recursive: true });
  for (const file of globSync(PREBUILT, { cwd: modules }))
    if (path.basename(file, '.node') !== system) rmSync(path.join(modules, file), { recursive: true });
  return {
    ...Object.fromEntries(Object.entries(packages).filter(([place]) => existsSync(path.join(folder, place)))),
    'node_modules/npm': NPM,
  };
}

/**
 * @param work the folder for the downloaded tarball. @throws {Error} if npm cannot download the package, or if it has
 * another hash.
 */
async function addNpm(work: string, folder: string): Promise<void> {
  const words = ['pack', `npm@${NPM.version}`, '--prefer-offline', '--pack-destination', work];
  const packed = await runProgram('npm', words, { cwd: work });
  const tarball = path.join(work, `npm-${NPM.version}.tgz`);
  if (packed.code !== 0 || !existsSync(tarball)) throw new Error(`npm could not download npm:\n${packed.output}`);
  const hash = createHash('sha512').update(readFileSync(tarball)).digest('base64');
  if (`sha512-${hash}` !== NPM.integrity) throw new Error(`npm@${NPM.version} has another hash than expected: ${hash}`);
  mkdirSync(folder);
  const { code, output } = await runProgram('tar', ['-xzf', tarball, '--strip-components=1', '-C', folder]);
  if (code !== 0) throw new Error(`${tarball} could not be unpacked:\n${output}`);
  rmSync(tarball);
}

/** Adds the program in node_modules and, next to it, the packages of projects, for `platform init`. */
async function unpackProgram(folder: string, tarballs: readonly string[]): Promise<void> {
  const program = path.join(folder, 'node_modules/@platform-run/cli');
  mkdirSync(program, { recursive: true });
  const [own] = tarballs.filter((file) => path.basename(file).startsWith('platform-run-cli-'));
  const { code, output } = await runProgram('tar', ['-xzf', own!, '--strip-components=1', '-C', program]);
  if (code !== 0) throw new Error(`${own} could not be unpacked:\n${output}`);
  mkdirSync(path.join(folder, 'packages'));
  for (const file of tarballs) copyFileSync(file, path.join(folder, 'packages', path.basename(file)));
}

/** The time of the commit in seconds since 1970, which all files in archives have; `SOURCE_DATE_EPOCH` overrides it. */
export async function commitSeconds(): Promise<number> {
  const set = process.env['SOURCE_DATE_EPOCH'];
  if (set !== undefined && /^\d+$/.test(set)) return Number(set);
  const { code, output } = await runProgram('git', ['log', '-1', '--format=%ct']);
  if (code !== 0) throw new Error(`Git does not know the time of the commit; set SOURCE_DATE_EPOCH:\n${output}`);
  return Number(output.trim());
}

/** Sorted names, one time, one owner and two modes: the same tree gives the same bytes. */
async function writeTar(archive: string, staging: string, name: string, seconds: number): Promise<void> {
  const tar = archive.replace(/\.gz$/, '');
  const words = [
    '--sort=name',
    '--format=pax',
    '--pax-option=delete=atime,delete=ctime',
    `--mtime=@${seconds}`,
    '--owner=0',
    '--group=0',
    '--numeric-owner',
    '--mode=u+rwX,go+rX,go-w',
    '-cf',
    tar,
    '-C',
    staging,
    name,
  ];
  for (const [program, args] of [
    ['tar', words],
    ['gzip', ['-n', '-f', tar]],
  ] as const) {
    const { code, output } = await runProgram(program, args, { env: { ...process.env, LC_ALL: 'C' } });
    if (code !== 0) throw new Error(`${program} failed:\n${output}`);
  }
}

async function hashOf(file: string): Promise<string> {
  const hash = createHash('sha256');
  await pipeline(createReadStream(file), hash);
  return hash.digest('hex');
}

function readJson(file: string): unknown {
  return JSON.parse(readFileSync(file, 'utf8'));
}

function writeJson(file: string, value: unknown): void {
  writeFileSync(file, JSON.stringify(value));
}
