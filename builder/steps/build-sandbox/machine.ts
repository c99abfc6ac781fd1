// The sandbox of a branch as used by the steps of a build: opened in whatever state the last attempt left it, and
// stopped or destroyed after the attempt. Responses of the sandbox are untrusted. Called by build-in-sandbox.ts.
import { join } from 'node:path';
import type { Readable } from 'node:stream';
import { setTimeout as pause } from 'node:timers/promises';
import { PlatformError } from '#core/errors.ts';
import type { Failure } from '#core/failure.ts';
import { SANDBOX_LIMITS } from '#core/sandbox/call-limits.ts';
import { folderVariables, registryVariables } from '../environment.ts';
import type { BuildProgram } from '../make-artifact.ts';
import { foldersIn } from '../build-folders.ts';
import type { Fence, FencedCommand, FencedExit } from '../fence.ts';
import { buildFailure, type BuildRequest, type BuildSandbox } from '../types.ts';
import { buildProgram } from './program.ts';

/** A responding build sandbox. Folders are paths inside the sandbox. */
export interface BuildMachine extends Fence {
  /** Whether the sandbox has caches of an earlier attempt. */
  readonly isReused: boolean;
  /** PATH of commands. */
  readonly path: string;
  readonly program: BuildProgram;
  /** Variables of every command. */
  readonly variables: Readonly<Record<string, string>>;
  /** Runs a shell script. @returns its output. @throws {Failure} `build` when it fails. */
  script(text: string, ...words: string[]): Promise<string>;
  /** @param path relative to the workspace. */
  write(path: string, content: Readable): Promise<void>;
  read(path: string): Promise<Readable>;
}

/** The first major version that runs the platform's TypeScript directly. */
const NODE_MAJOR = 24;
/** Candidate Node programs: the program of container sandboxes, and the program of the image. */
const NODES = '/opt/platform-sandbox/node node';
/** How long to wait for an unavailable service, and the polling interval. */
const AWAY_MS_MAX = 60_000;
const [AGAIN_MS_LEAST, AGAIN_MS_MAX] = [250, 5000];
const CLOSE_MS_MAX = 10_000;
const KEPT_CHARS_MAX = 1024 * 1024;
const SAID_CHARS_MAX = 300;

/** @throws {PlatformError} of the sandbox service; {Failure} `build` when the sandbox cannot build. */
export async function openBuildMachine(request: BuildRequest, access: BuildSandbox): Promise<BuildMachine> {
  const { client, place, headers } = access;
  const { signal, onLine } = request;
  const options = { signal, headers };
  let commands = 0;

  async function script(text: string, ...words: string[]): Promise<string> {
    const command = ['/bin/sh', '-c', text, 'sh', ...words];
    const answer = await client.call(place, 'exec', { command, timeoutMs: SANDBOX_LIMITS.commandMsMax }, options);
    const { stdout, stderr, exitCode } = toResult(answer);
    if (exitCode === 0) return stdout;
    if (/No space left on device|Disk quota exceeded/i.test(stderr)) throw diskFull();
    throw buildFailure('sandbox_failed', `The build's sandbox cannot be prepared: ${shortOf(stderr)}`);
  }

  async function run(command: FencedCommand): Promise<FencedExit> {
    const { onOutput, onReport, input } = command;
    const texts = { stdout: '', stderr: '' };
    const take = (name: 'stdout' | 'stderr', data: string): void => {
      if (name === 'stderr' && onReport !== undefined) onReport(Buffer.from(data));
      else if (onOutput !== undefined) onOutput(Buffer.from(data), name === 'stderr');
      else if (texts[name].length < KEPT_CHARS_MAX) texts[name] += data;
    };
    const id = `build-${++commands}`;
    // The process sends its reports on stderr, so the command's stderr is redirected to stdout.
    const words = onReport === undefined ? command.words : ['sh', '-c', 'exec "$@" 3>&2 2>&1', 'sh', ...command.words];
    const stdin = input === undefined ? {} : { stdin: { text: input } };
    const started = { command: words, cwd: command.cwd, env: command.env, processId: id, ...stdin };
    await client.call(place, 'startProcess', started, options);
    for await (const event of client.events(place, 'streamProcessLogs', { id }, options)) {
      const { type, data, chars, exitCode } = event;
      if ((type === 'stdout' || type === 'stderr') && typeof data === 'string') take(type, data);
      if (type === 'dropped') onLine('build', 'warn', `${Number(chars)} characters came too fast and are left out`);
      if (type === 'exit') return { ...exitOf(Number(exitCode)), ...texts };
    }
    throw new PlatformError('sandbox_lost', { reason: 'its output ended before its process' });
  }

  async function close(): Promise<void> {
    const operation = access.isTransient ? 'destroy' : 'stop';
    try {
      await client.call(place, operation, {}, { headers, signal: AbortSignal.timeout(CLOSE_MS_MAX) });
    } catch (error) {
      onLine(
        'queue',
        'warn',
        `The build's sandbox was not stopped and will stop by itself: ${(error as Error).message}`,
      );
    }
  }

  const before = await untilThere(request, async () => {
    if (access.isCleared || access.isTransient) await client.call(place, 'destroy', {}, options);
    const info = await client.info(place, options);
    // Kills processes that a killed builder left running.
    if (info !== null && info.state !== 'stopped') await client.call(place, 'stop', {}, options);
    return info;
  });
  try {
    const packed = access.program ?? (await buildProgram());
    const installed = `program-${packed.hash}`;
    const probe = (): Promise<string> => untilThere(request, () => script(PROBE, installed));
    const said = await probe().catch(async (error: unknown) => {
      if (!(error instanceof PlatformError) || error.code !== 'sandbox_limit') throw error;
      await makeRoom(access, signal);
      return probe();
    });
    const [workspace = '', path = '', isInstalled = '', node = '', version = ''] = said.split('\n');
    if (!workspace.startsWith('/') || path === '') throw odd();
    const own = `${process.platform}-${process.arch}`;
    if (node === '' || version !== own)
      throw buildFailure(
        'sandbox_unfit',
        `The build's sandbox has no Node ${NODE_MAJOR} for ${own}${version === '' ? '' : `, but one for ${shortOf(version)}`}: BUILD_SANDBOX_IMAGE or BUILD_SANDBOX_TEMPLATE names what it is made of`,
      );
    if (isInstalled !== 'yes') {
      await client.write(place, { path: 'program.tgz' }, await packed.bytes(), options);
      await script(INSTALL, installed);
    }
    const folders = foldersIn(workspace);
    const variables = { ...registryVariables(), ...folderVariables(folders) };
    return {
      folders,
      uid: null,
      outbound: null,
      isReused: before !== null,
      path,
      variables,
      program: { node: [node], script: join(workspace, installed, packed.script), env: { ...variables, PATH: path } },
      script,
      run,
      write: (file, content) => client.write(place, { path: file }, content, options),
      read: (file) => client.read(place, file, options),
      giveAway: async () => {},
      close,
    };
  } catch (error) {
    await close();
    throw error;
  }
}

/** If a project has more branches than it may have sandboxes, the least recently built branch loses its caches. */
async function makeRoom({ client, place }: BuildSandbox, signal: AbortSignal): Promise<void> {
  const { items } = await client.list(place, { limit: '1000' }, { signal });
  const [oldest] = items
    .filter(({ state }) => state === 'stopped' || state === 'suspended' || state === 'error')
    .toSorted((a, b) => a.lastActiveAt - b.lastActiveAt);
  if (oldest !== undefined) await client.call({ ...place, id: oldest.id }, 'destroy', {}, { signal });
}

/** Prints the workspace, PATH, whether the program exists, and the suitable Node with its architecture. */
const PROBE = `
pwd -P && printf '%s\\n' "$PATH"
if [ -e "$1/whole" ]; then echo yes; else echo no; fi
for node in ${NODES}; do
  major=$("$node" -p 'process.versions.node.split(".")[0]' 2>/dev/null) || continue
  [ "$major" -ge ${NODE_MAJOR} ] || continue
  command -v "$node"
  "$node" -p 'process.platform + "-" + process.arch'
  break
done`;

/** Deletes programs of other versions. */
const INSTALL = `
set -e
rm -rf program-*
mkdir "$1"
tar -xzf program.tgz -C "$1" --no-same-owner
rm program.tgz
touch "$1/whole"`;

/** Retries while the service is unavailable. */
async function untilThere<Result>(request: BuildRequest, work: () => Promise<Result>): Promise<Result> {
  const until = performance.now() + AWAY_MS_MAX;
  for (let failures = 0; ; failures++) {
    try {
      return await work();
    } catch (error) {
      const isAway = error instanceof PlatformError && error.code === 'sandbox_unavailable';
      if (!isAway || performance.now() > until) throw error;
      if (failures === 0) request.onLine('queue', 'warn', `${error.message}: trying again`);
    }
    await pause(Math.min(AGAIN_MS_MAX, AGAIN_MS_LEAST * 2 ** failures), undefined, { signal: request.signal }).catch(
      () => request.signal.throwIfAborted(),
    );
  }
}

function toResult(answer: unknown): { readonly stdout: string; readonly stderr: string; readonly exitCode: number } {
  const { stdout, stderr, exitCode } = (answer ?? {}) as Record<string, unknown>;
  if (typeof stdout !== 'string' || typeof stderr !== 'string' || typeof exitCode !== 'number') throw odd();
  return { stdout, stderr, exitCode };
}

function exitOf(code: number): Pick<FencedExit, 'code' | 'signal'> {
  // As in shells, the exit code is 128 plus the signal number.
  return code === 137 ? { code: null, signal: 'SIGKILL' } : { code, signal: null };
}

function diskFull(): Failure<'build'> {
  return buildFailure(
    'disk_full',
    "The disk of the build's sandbox is full (SANDBOX_DISK_MB): clear the build cache, or build less",
  );
}

function odd(): PlatformError {
  return new PlatformError('sandbox_lost', { reason: 'its agent sent an unexpected response' });
}

function shortOf(text: string): string {
  return (text.trim().split('\n')[0] ?? '').replace(/\p{Cc}/gu, ' ').slice(0, SAID_CHARS_MAX);
}
