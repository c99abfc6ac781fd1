// The platform of the compose files, as an installation has it: secrets made, containers up, reached over the published
// ports. `startWholePlatform` gives it instead of `npm start` where TEST_COMPOSE names compose files, so that the same
// tests run against both.
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { parseEnv } from 'node:util';
import { makeSecrets } from '#cli/secrets/make-secrets.ts';
import { root } from '#cli/tasks/tools/processes.ts';
import { BASE_IMAGE, startDockerEngine, type DockerEngine } from './docker-engine.ts';
import { freePort } from './free-port.ts';
import { platformAt, type WholePlatform } from './whole-platform.ts';

/** An installation of containers. */
export interface ComposePlatform extends WholePlatform {
  readonly engine: DockerEngine;
  /** Name of the project: what its containers, volumes and networks begin with. */
  readonly project: string;
  /** Of .env. */
  readonly settings: Readonly<Record<string, string | undefined>>;
  /** Runs Compose for it. */
  compose(...words: string[]): Promise<string>;
  /** Starts what does not run of it, and waits until every container is healthy. */
  up(): Promise<void>;
}

/**
 * Brings up an installation of its own, and waits until every container is healthy.
 *
 * @param variables of the shell that Compose runs in. @param more lines of .env.
 * @param services to start, with what they depend on; none: all.
 */
export async function startComposePlatform(
  files: readonly string[],
  variables: Readonly<Record<string, string>> = {},
  more: Readonly<Record<string, string>> = {},
  services: readonly string[] = [],
): Promise<ComposePlatform> {
  const engine = await startDockerEngine();
  const folder = mkdtempSync(path.join(tmpdir(), 'platform-compose-'));
  const envFile = path.join(folder, '.env');
  const ports = { handler: await freePort(), api: await freePort(), ui: await freePort() };
  const settings = {
    BASE_IMAGE,
    PUBLISH_ADDRESS: '127.0.0.1',
    HANDLER_PUBLISHED_PORT: String(ports.handler),
    API_PUBLISHED_PORT: String(ports.api),
    UI_PUBLISHED_PORT: String(ports.ui),
    DOCS_PUBLISHED_PORT: String(await freePort()),
    PUBLIC_PORT: String(ports.handler),
    PUBLIC_API_URL: `http://localhost:${ports.api}`,
    AUTH_URL: `http://localhost:${ports.ui}`,
    ...more,
  };
  const lines = Object.entries(settings).map(([name, value]) => `${name}=${value}\n`);
  const example = path.join(root, '.env.example');
  writeFileSync(envFile, readFileSync(example, 'utf8') + lines.join(''), { mode: 0o600 });
  makeSecrets(envFile, example);
  const project = path
    .basename(folder)
    .toLowerCase()
    .replaceAll(/[^a-z0-9]/g, '');
  const words = ['--project-name', project, '--env-file', envFile, ...files.flatMap((file) => ['--file', file])];
  // The key of the Git host has line breaks, which .env files have not.
  const compose = (...rest: string[]): Promise<string> => engine.compose(variables, ...words, ...rest);
  const up = async (): Promise<void> => {
    await compose('up', '--detach', '--no-build', ...services);
    await untilHealthy(engine, project);
  };
  const close = async (): Promise<void> => {
    if (process.env['TEST_SHOW_LOG'] !== undefined) console.log((await compose('logs', '--no-color')).slice(-20_000));
    await compose('down', '--volumes', '--timeout', '5').catch(() => {});
    await engine.close();
    rmSync(folder, { recursive: true, force: true });
  };
  try {
    const built = (await engine.docker('images', '--quiet', 'platform-caddy')).trim() !== '';
    if (!built || process.env['TEST_COMPOSE_BUILT'] === undefined) await compose('build', '--quiet');
    await up();
    const api = (
      await compose('ps', '--quiet', files.some((file) => file.includes('split')) ? 'api' : 'platform')
    ).trim();
    const token = (await engine.docker('exec', api, 'cat', '/data/secrets/first-run-token')).trim();
    const platform = platformAt({
      folder,
      ports,
      token,
      environment: {
        ...process.env,
        PLATFORM_HOME: path.join(folder, 'home'),
        PLATFORM_API_URL: `http://localhost:${ports.api}`,
        PLATFORM_API_TOKEN: token,
        NO_COLOR: '1',
      },
    });
    return {
      ...platform,
      pid: 0,
      status: () => Promise.reject(new Error('not published')),
      stop: close,
      close,
      engine,
      project,
      settings: parseEnv(readFileSync(envFile, 'utf8')),
      compose,
      up,
    };
  } catch (error) {
    const log = await compose('logs', '--no-color', '--tail=20').catch(() => '');
    await close();
    throw new Error(`The installation does not come up:\n${log.slice(-6000)}`, { cause: error });
  }
}

/** Waits for all containers of a project. @throws {Error} when one ends, or is not healthy in two minutes. */
async function untilHealthy(engine: DockerEngine, project: string): Promise<void> {
  const FORMAT = '{{.Names}} {{.Status}}';
  for (const end = Date.now() + 120_000; ; await new Promise((resolve) => setTimeout(resolve, 500))) {
    const text = await engine.docker(
      'ps',
      '--all',
      '--filter',
      `label=com.docker.compose.project=${project}`,
      '--format',
      FORMAT,
    );
    const lines = text.trim().split('\n');
    if (lines.every((line) => line.includes('(healthy)'))) return;
    if (Date.now() > end || lines.some((line) => / Restarting | Exited /.test(` ${line} `)))
      throw new Error(`Containers are not healthy:\n${lines.join('\n')}`);
  }
}
