// The program that runs in every sandbox, in a volume mounted read-only: Node and the agent's modules. The volume is
// filled once per version over the engine's API, so the engine may be remote.
import { createHash } from 'node:crypto';
import { createReadStream, statSync } from 'node:fs';
import { Readable } from 'node:stream';
import { padding, tarHeader } from '#core/archive/tar-header.ts';
import { isFailure } from '#core/failure.ts';
import { programArchive, readProgram, SOURCE_SUFFIX } from '../program-files.ts';
import { type EngineApi } from './engine-api.ts';

/** Mount point of the volume. */
export const PROGRAM_FOLDER = '/opt/platform-sandbox';
const COMPILE_MS = 30_000;
const ENTRY = `sandbox/backends/container/inside/main${SOURCE_SUFFIX}`;

/** The command that starts the agent. */
export const PROGRAM_COMMAND = [
  `${PROGRAM_FOLDER}/node`,
  '--disable-warning=ExperimentalWarning',
  '--max-old-space-size=256',
  `${PROGRAM_FOLDER}/${ENTRY}`,
];

/** The program's compile cache for Node: saves 310 of 460 ms of CPU time per start. */
export const COMPILED_VARIABLE = 'NODE_COMPILE_CACHE';
export const COMPILED_FOLDER = `${PROGRAM_FOLDER}/compiled`;

/**
 * Creates the volume with the program if it does not exist.
 *
 * @param given `image`: the image of the containers that fill the volume. `user`: runs the program and owns its compile
 * cache.
 */
export async function openProgram(
  api: EngineApi,
  given: { readonly image: string; readonly installation: string; readonly user: number },
): Promise<string> {
  const { image, installation, user } = given;
  const labels = { 'platform.sandbox.installation': installation };
  const files = readProgram(ENTRY);
  const { size, mtimeMs } = statSync(process.execPath);
  const hash = createHash('sha256').update(`${process.version} ${size} ${mtimeMs} ${COMPILED_FOLDER} ${user}`);
  for (const [file, bytes] of files) hash.update(file).update(bytes);
  const prefix = `platform-sandboxes-program-${installation}-`;
  const name = prefix + hash.digest('hex').slice(0, 16);
  // A second volume marks the first volume as complete.
  const whole = `${name}-whole`;
  if (await hasVolume(api, whole)) return name;
  await api.call('POST', '/volumes/create', { Name: name, Labels: labels });
  const { Id } = await api.call<{ Id: string }>('POST', '/containers/create', {
    Image: image,
    Entrypoint: [],
    Cmd: ['true'],
    Labels: labels,
    HostConfig: { NetworkMode: 'none', Mounts: [{ Type: 'volume', Source: name, Target: PROGRAM_FOLDER }] },
  });
  try {
    await api.upload(`/containers/${Id}/archive?path=${PROGRAM_FOLDER}`, Readable.from(archive(files)));
  } finally {
    await api.call('DELETE', `/containers/${Id}?force=true`);
  }
  // The compile cache is optional.
  await compile(api, { image, labels, volume: name, user }).catch(() => {});
  await api.call('POST', '/volumes/create', { Name: whole, Labels: labels });
  return name;
}

/** Runs the program once without input, which makes it exit: Node then stores its compile cache. */
async function compile(
  api: EngineApi,
  given: { readonly image: string; readonly labels: object; readonly volume: string; readonly user: number },
): Promise<void> {
  const { image, labels, volume, user } = given;
  const [program, ...words] = PROGRAM_COMMAND;
  const script = `
    const { chownSync, mkdirSync } = require('node:fs');
    mkdirSync('${COMPILED_FOLDER}', { recursive: true });
    chownSync('${COMPILED_FOLDER}', ${user}, ${user});
    const env = { ...process.env, ${COMPILED_VARIABLE}: '${COMPILED_FOLDER}' };
    const options = { uid: ${user}, gid: ${user}, env, stdio: 'ignore', timeout: ${COMPILE_MS} };
    require('node:child_process').spawnSync('${program}', ${JSON.stringify(words)}, options);`;
  const { Id } = await api.call<{ Id: string }>('POST', '/containers/create', {
    Image: image,
    Entrypoint: [],
    Cmd: [program, '-e', script],
    User: '0:0',
    Labels: labels,
    NetworkDisabled: true,
    HostConfig: {
      NetworkMode: 'none',
      CapDrop: ['ALL'],
      CapAdd: ['CHOWN', 'SETUID', 'SETGID'],
      SecurityOpt: ['no-new-privileges'],
      LogConfig: { Type: 'none' },
      Mounts: [{ Type: 'volume', Source: volume, Target: PROGRAM_FOLDER }],
    },
  });
  try {
    await api.call('POST', `/containers/${Id}/start`);
    await api.call('POST', `/containers/${Id}/wait`);
  } finally {
    await api.call('DELETE', `/containers/${Id}?force=true`);
  }
}

async function hasVolume(api: EngineApi, name: string): Promise<boolean> {
  try {
    await api.call('GET', `/volumes/${name}`);
    return true;
  } catch (error) {
    if (isFailure(error, 'container_engine') && error.status === 404) return false;
    throw error;
  }
}

async function* archive(files: ReadonlyMap<string, Buffer>): AsyncGenerator<Uint8Array> {
  yield* programArchive(files);
  const { size } = statSync(process.execPath);
  yield tarHeader('node', size, { isExecutable: true });
  yield* createReadStream(process.execPath) as AsyncIterable<Uint8Array>;
  yield Buffer.alloc(padding(size) + 1024);
}
