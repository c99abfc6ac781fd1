// The V8 snapshot that every isolate starts from. For each version of the guest, the snapshot is built once, in a child
// process that a faulty snapshot may abort. It is stored in a private cache folder under a hash of all its inputs, and
// refused if its content does not match. A snapshot contains machine code, so it is only read from a folder that nobody
// else can write to.
import { execFile } from 'node:child_process';
import { createHash, randomBytes } from 'node:crypto';
import { existsSync, readFileSync, readdirSync } from 'node:fs';
import { createRequire } from 'node:module';
import { dirname, join } from 'node:path';
import { promisify } from 'node:util';
import ivm from 'isolated-vm';
import { PlatformError } from '#core/errors.ts';
import { openCacheFolder } from '#core/process/cache-folder.ts';
import { nativeFile } from './native.ts';
import { nodeCommand } from '#core/process/node-command.ts';
import { createOpener } from './snapshot-contexts.ts';

const guestFolder = join(import.meta.dirname, '../guest');
const protocolFile = join(import.meta.dirname, '../bridge/protocol.ts');
/** First bytes of a cache file; the hash of the content and the key follow in hex. */
const MAGIC = 'platform-guest-snapshot';
const HEADER_BYTES = MAGIC.length + 64 + 64;
/** Size of the field with the length of the lazy scripts, which precede the snapshot. */
const LENGTH_BYTES = 4;

/** A module of guest/lazy, as its script and V8's code cache for it in base64. */
export interface LazyScript {
  readonly code: string;
  readonly cache: string;
}

/** A loaded snapshot. */
export interface Snapshot {
  /** Creates an isolate with a context that contains the guest, outside the main thread. */
  readonly open: ReturnType<typeof createOpener>;
  readonly bytes: number;
  readonly key: string;
  /**
   * Provides the scripts of `lazy` to all isolates of the process, once. @param native an isolate that has run no
   * tenant code.
   */
  share(native: ivm.Reference<object>): void;
  /** The modules of guest/lazy, by name. */
  readonly lazy: Readonly<Record<string, LazyScript>>;
}

/**
 * Loads the snapshot of this build, and builds it first if necessary.
 *
 * @throws {PlatformError} `snapshot_mismatch` when the content of the cached file does not match its name.
 * @throws {Error} when others can write to the folder, or the build fails (with the compiler's message).
 */
export async function loadSnapshot(folder: string): Promise<Snapshot> {
  openCacheFolder(folder);
  const key = snapshotKey();
  const file = join(folder, `guest-${key.slice(0, 32)}.snapshot`);
  if (!existsSync(file)) await build(file, key);
  return read(file, key);
}

/** A hash of all inputs of a snapshot: the guest's sources, the packages that they bundle, V8 and its flags. */
export function snapshotKey(): string {
  const hash = createHash('sha256');
  const add = (name: string, text: string | Buffer): void => {
    hash.update(`${name}\0${text.length}\0`).update(text);
  };
  add(
    'v8',
    `${process.versions.v8} ${process.arch} ${process.execArgv
      .filter((flag) => flag.startsWith('--') && !flag.startsWith('--test') && !flag.startsWith('--input'))
      .toSorted()
      .join(' ')}`,
  );
  const require = createRequire(import.meta.url);
  for (const name of [
    'isolated-vm',
    'web-streams-polyfill',
    'urlpattern-polyfill',
    'htmlparser2',
    'css-what',
    'rolldown',
  ])
    add(name, packageVersion(require, name));
  for (const name of readdirSync(guestFolder, { recursive: true, encoding: 'utf8' }).toSorted()) {
    if (name.endsWith('.ts')) add(name, readFileSync(join(guestFolder, name)));
  }
  add('protocol', readFileSync(protocolFile));
  const extension = import.meta.filename.endsWith('.ts') ? '.ts' : '.js';
  for (const name of ['snapshot-build', 'snapshot-contexts', 'snapshot-warm-up'])
    add(name, readFileSync(join(import.meta.dirname, name + extension)));
  add('native', readFileSync(nativeFile('snapshot')));
  return hash.digest('hex');
}

// Not every package exports its package.json, but it is always in the folder of its name.
function packageVersion(require: NodeJS.Require, name: string): string {
  for (const folder of require.resolve.paths(name) ?? []) {
    const file = join(folder, name, 'package.json');
    if (existsSync(file)) return (JSON.parse(readFileSync(file, 'utf8')) as { version: string }).version;
  }
  return 'none';
}

async function build(file: string, key: string): Promise<void> {
  const script = join(import.meta.dirname, `snapshot-build${import.meta.filename.endsWith('.ts') ? '.ts' : '.js'}`);
  const partial = `${file}.${process.pid}.${randomBytes(4).toString('hex')}`;
  try {
    const [program, ...before] = nodeCommand();
    await promisify(execFile)(
      program,
      [...before, ...snapshotFlags(), script, join(guestFolder, 'main.ts'), partial, file, MAGIC, key],
      {
        env: { PATH: process.env['PATH'] ?? '' },
        cwd: dirname(script),
      },
    );
  } catch (error) {
    const said = (error as { stderr?: string }).stderr?.trim();
    throw new Error(
      `The guest snapshot cannot be built: ${said === undefined || said === '' ? (error as Error).message : said}`,
      {
        cause: error,
      },
    );
  }
}

// V8 refuses code caches created under other V8 flags, so the engine's flags are passed on.
const FLAG_OF_V8 =
  /^--(no-)?(wasm|max|min|semi|stack|harmony|js|jit|sparkplug|maglev|turbo|opt|lazy|flush|single|concurrent|parallel)/;

function snapshotFlags(): string[] {
  return [
    '--no-node-snapshot',
    '--disable-warning=ExperimentalWarning',
    ...process.execArgv.filter((flag) => FLAG_OF_V8.test(flag)),
  ];
}

function read(file: string, key: string): Snapshot {
  const content = readFileSync(file);
  const refuse = (reason: string): never => {
    throw new PlatformError('snapshot_mismatch', { reason, file });
  };
  if (content.length <= HEADER_BYTES || content.toString('latin1', 0, MAGIC.length) !== MAGIC)
    refuse('the file is not a snapshot');
  if (content.toString('latin1', MAGIC.length, MAGIC.length + 64) !== key)
    refuse('it was built from other sources or flags');
  const body = content.subarray(HEADER_BYTES);
  if (createHash('sha256').update(body).digest('hex') !== content.toString('latin1', MAGIC.length + 64, HEADER_BYTES))
    refuse('its content does not match its hash');
  const lazyEnd = LENGTH_BYTES + body.readUInt32LE(0);
  const lazy = JSON.parse(body.toString('utf8', LENGTH_BYTES, lazyEnd)) as Record<string, LazyScript>;
  const snapshot = body.subarray(lazyEnd);
  const buffer = new ArrayBuffer(snapshot.byteLength);
  new Uint8Array(buffer).set(snapshot);
  let isShared = false;
  const share = (native: ivm.Reference<object>): void => {
    if (isShared) return;
    isShared = true;
    const provide = (native as ivm.Reference<Record<string, unknown>>).getSync('provideScript', {
      reference: true,
    }) as unknown as ivm.Reference<(...parts: string[]) => void>;
    for (const [name, { code, cache }] of Object.entries(lazy))
      provide.applySync(undefined, [key, name, code, Buffer.from(cache, 'base64').toString('latin1')]);
    provide.applySync(undefined, [key]);
    provide.release();
  };
  return { open: createOpener(buffer), bytes: snapshot.byteLength, share, key, lazy };
}
