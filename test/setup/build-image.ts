// The image of build sandboxes by containers/Dockerfile.sandbox-build, on the engine of `npm test -- sandbox`: made
// once, and kept in the cache folder. There is no registry of images, so its base is that of the other tests.
import { execFile } from 'node:child_process';
import { createHash } from 'node:crypto';
import { cpSync, existsSync, mkdirSync, mkdtempSync, readFileSync, renameSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { promisify } from 'node:util';
import { root } from '#cli/tasks/tools/processes.ts';
import { SANDBOX_IMAGE } from './sandbox-engine.ts';

const runProgram = promisify(execFile);
export const BUILD_IMAGE = 'platform-test-sandbox-build:trixie';
const BASE = 'platform-test-sandbox-base:trixie';
const CA_FILE = '/etc/ssl/certs/ca-certificates.crt';
/** Fewer than an operator's: nothing is compiled in tests. */
const PACKAGES = 'ca-certificates curl git';

/** @param socketPath of the engine, which speaks Docker's API. */
export async function haveBuildImage(socketPath: string): Promise<void> {
  const env = { ...process.env, DOCKER_HOST: `unix://${socketPath}`, DOCKER_BUILDKIT: '0' };
  const docker = async (...words: string[]): Promise<string> =>
    (await runProgram('docker', words, { env, maxBuffer: 64 * 1024 * 1024 })).stdout;
  const file = path.join(root, 'containers/Dockerfile.sandbox-build');
  const hash = createHash('sha256').update(readFileSync(file)).update(PACKAGES).digest('hex').slice(0, 12);
  const kept = path.join(root, '.cache', `sandbox-build-${hash}.tar`);
  if (existsSync(kept)) return void (await docker('load', '--input', kept));
  const context = mkdtempSync(path.join(tmpdir(), 'build-image-'));
  try {
    // The authorities of this machine: a proxy of its own may stand before the registry.
    cpSync(CA_FILE, path.join(context, 'authorities.crt'));
    const of = `FROM ${SANDBOX_IMAGE}\nCOPY authorities.crt ${CA_FILE}\nENV NODE_EXTRA_CA_CERTS=${CA_FILE}\n`;
    writeFileSync(path.join(context, 'Dockerfile'), of);
    await docker('build', '-t', BASE, context);
    const network = ['--network', 'host', '--build-arg', `BASE=${BASE}`, '--build-arg', `PACKAGES=${PACKAGES}`];
    cpSync(file, path.join(context, 'Dockerfile'));
    await docker('build', ...network, '-t', BUILD_IMAGE, context);
    mkdirSync(path.dirname(kept), { recursive: true });
    await docker('save', '--output', `${kept}.part`, BUILD_IMAGE);
    renameSync(`${kept}.part`, kept);
  } finally {
    rmSync(context, { recursive: true, force: true });
  }
}
