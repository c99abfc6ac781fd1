// Downloads or reads uWebSockets.js, checks it against the pinned hashes, tests it in a separate process, and stores
// the binary for this system in the data folder. Called by `platform listener install`.
import { spawn, spawnSync } from 'node:child_process';
import { createHash } from 'node:crypto';
import { once } from 'node:events';
import {
  chmodSync,
  createReadStream,
  existsSync,
  mkdirSync,
  mkdtempSync,
  readFileSync,
  readdirSync,
  renameSync,
  rmSync,
  statSync,
  writeFileSync,
} from 'node:fs';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { pipeline } from 'node:stream/promises';
import { nodeCommand } from '#core/process/node-command.ts';
import { pinnedUws, sha256, UWS_PACKAGE, uwsFolder, uwsName, type UwsSystem } from '#core/process/uws.ts';
import { findProgram } from '#core/process/confinement/confinement.ts';
import { whileShown } from '../terminal/elapsed.ts';
import { CliError } from '../terminal/failure.ts';
import type { Shell } from '../terminal/shell.ts';

const MB = 1_000_000;

/** Options. */
interface InstallOptions {
  /** Data folder. */
  readonly folder: string;
  /** Archive or `.node` file; null means that npm fetches the package. */
  readonly from: string | null;
  readonly system: UwsSystem;
}

/**
 * @throws {CliError} if the library cannot be downloaded, has another hash, or does not load. Nothing is then
 * installed.
 */
export async function installListener(shell: Shell, { folder, from, system }: InstallOptions): Promise<void> {
  const name = uwsName(system);
  const { bytes } = pinnedUws(name)!;
  const work = mkdtempSync(path.join(tmpdir(), 'platform-listener-'));
  try {
    const { archiveBytes, licence, spec } = UWS_PACKAGE;
    shell.out(
      from === null
        ? `Fetching ${spec}: ${inMb(archiveBytes)}, of which ${inMb(bytes)} are stored; licence ${licence}`
        : `Reading ${from}: ${inMb(bytes)} are stored; licence ${licence}`,
    );
    const file = from === null ? await fetchPackage(shell, work) : path.resolve(shell.cwd, from);
    const tried = path.join(work, name);
    writeFileSync(tried, checkedBinary(file, name), { mode: 0o600 });
    tryToLoad(tried);
    store(tried, uwsFolder(folder), name);
  } finally {
    rmSync(work, { recursive: true, force: true });
  }
  shell.out(`${shell.paint('green', 'Installed')} ${path.join(uwsFolder(folder), name)}`);
  shell.out('Takes effect at the next start of the platform');
}

/** Downloads the package through npm, which uses its configured registry and proxy. @returns the archive. */
async function fetchPackage(shell: Shell, work: string): Promise<string> {
  const npm = await findProgram('npm', shell.env);
  if (npm === null)
    throw new CliError('npm is not installed, which fetches uWebSockets.js', {
      advice: `Run \`npm pack ${UWS_PACKAGE.spec}\` on a machine that has it, and pass the file with --from.`,
    });
  const { code, text } = await whileShown(shell, 'Fetching', () => npmPack(npm, work, shell));
  const archive = readdirSync(work).find((found) => found.endsWith('.tgz'));
  if (code !== 0 || archive === undefined)
    throw new CliError(`npm could not fetch ${UWS_PACKAGE.spec}: ${text.trim().split('\n').at(-1) || `exit ${code}`}`, {
      advice: `Without a registry: run \`npm pack ${UWS_PACKAGE.spec}\` elsewhere, and pass the file with --from.`,
    });
  const file = path.join(work, archive);
  const hash = createHash('sha512');
  await pipeline(createReadStream(file), hash);
  const integrity = `sha512-${hash.digest('base64')}`;
  if (integrity !== UWS_PACKAGE.integrity)
    throw new CliError(`The registry sent another ${UWS_PACKAGE.spec} than the pinned one`, {
      advice: `Nothing was installed. Its hash is ${integrity}, the pinned hash is ${UWS_PACKAGE.integrity}.`,
    });
  return file;
}

async function npmPack(npm: string, work: string, { env }: Shell): Promise<{ code: number | null; text: string }> {
  const words = ['pack', UWS_PACKAGE.spec, '--ignore-scripts', '--pack-destination', work, '--loglevel', 'error'];
  const child = spawn(npm, words, { cwd: work, env, stdio: ['ignore', 'ignore', 'pipe'] });
  let text = '';
  child.stderr.on('data', (chunk: Buffer) => (text = `${text}${chunk}`.slice(-4096)));
  const [code] = (await once(child, 'close')) as [number | null];
  return { code, text };
}

/** Reads the binary from a `.node` file or an archive, and checks that it has the pinned hash. */
function checkedBinary(file: string, name: string): Uint8Array {
  if (!existsSync(file) || !statSync(file).isFile())
    throw new CliError(`There is no file ${file}`, { exitCode: 2, advice: '--from takes an archive or a .node file.' });
  const pinned = pinnedUws(name)!;
  const content = file.endsWith('.node') ? readSized(file, pinned.bytes) : unpacked(file, name, pinned.bytes);
  const found = content === null ? null : sha256(content);
  if (content === null || found !== pinned.sha256)
    throw new CliError(`${path.basename(file)} has another ${name} than the pinned one`, {
      advice:
        `Nothing was installed. Its SHA-256 is ${found ?? 'not computed, since its size differs'}, ` +
        `the pinned hash is ${pinned.sha256} (${UWS_PACKAGE.spec}).`,
    });
  return content;
}

/** Reads a file; null if it has another size. */
function readSized(file: string, bytes: number): Uint8Array | null {
  return statSync(file).size === bytes ? readFileSync(file) : null;
}

/** @returns null if the unpacked file is larger than the pinned file. */
function unpacked(file: string, name: string, bytes: number): Uint8Array | null {
  const words = ['-xzOf', file, '--wildcards', '--no-anchored', `*/${name}`];
  const { status, stdout, stderr, error } = spawnSync('tar', words, { maxBuffer: bytes });
  if ((error as NodeJS.ErrnoException | undefined)?.code === 'ENOBUFS') return null;
  if (status === 0) return stdout;
  const reason = error?.message ?? stderr.toString('utf8').trim().split('\n')[0];
  throw new CliError(`${path.basename(file)} has no ${name}: ${reason}`, {
    advice: `--from takes an archive of ${UWS_PACKAGE.spec} (.tgz), of a release of its author (.tar.gz), or the .node file.`,
  });
}

/** Loads the library in a separate process, because an incompatible binary can crash the process that loads it. */
function tryToLoad(file: string): void {
  const [program, ...words] = nodeCommand();
  const { status, signal, stderr } = spawnSync(program, [...words, '-e', `require(${JSON.stringify(file)}).App()`], {
    encoding: 'utf8',
  });
  if (status === 0) return;
  const reason = /^Error: (.*)$/m.exec(stderr)?.[1] ?? (signal === null ? `exit code ${status}` : signal);
  throw new CliError(`uWebSockets.js does not load here: ${reason}`, { advice: 'Nothing was installed.' });
}

/** Stores the file atomically: an engine that starts reads the old or the new file. */
function store(tried: string, folder: string, name: string): void {
  mkdirSync(folder, { recursive: true, mode: 0o700 });
  chmodSync(folder, 0o700);
  const unfinished = path.join(folder, `.${name}.${process.pid}`);
  writeFileSync(unfinished, readFileSync(tried), { mode: 0o600, flush: true });
  renameSync(unfinished, path.join(folder, name));
}

function inMb(bytes: number): string {
  return `${(bytes / MB).toFixed(1)} MB`;
}
