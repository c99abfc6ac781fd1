// Creates data folders with many deployments, each with a different artifact, so that nothing compiled for one serves
// another; and a workerd that loads the same bundles one by one with its Worker Loader, its closest equivalent of a
// deployment.
import { existsSync, mkdirSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import path from 'node:path';
import { writeArtifact } from '../builder/build/artifact.ts';
import { build } from '../builder/build/build.ts';
import { hashOf } from '../core/artifact-id.ts';
import type { Manifest, RouteRecord } from '../core/manifest.ts';
import { parseProjectConfig } from '../core/config/project-config.ts';
import { temporaryFolder } from './cleanup.ts';
import { notInstalled, startServer, workerdBinary, type Server } from './servers.ts';

/** A worker of workers/, bundled. */
export interface Bundle {
  readonly name: string;
  readonly code: string;
  readonly manifest: Manifest;
  /** The artifact that its files are copied from; absent: it has no files. */
  readonly files?: string;
}

const workers = path.join(import.meta.dirname, 'workers');

/** Bundles one worker as a deploy does. @param more of its platform.yaml: static files, from a folder beside it. */
export async function bundleWorker(name: string, more = ''): Promise<Bundle> {
  const { config } = parseProjectConfig(`main: ${name}.js\n${more}`, { file: 'platform.yaml' });
  const folder = temporaryFolder('platform-bench-bundle-');
  const artifact = await build({ root: workers, config: config!, artifacts: folder, durable: false });
  const code = readFileSync(path.join(artifact.folder, 'worker.js'), 'utf8');
  const bundle = { name, code, manifest: artifact.manifest };
  if (artifact.manifest.assets !== null) return { ...bundle, files: artifact.folder };
  rmSync(folder, { recursive: true });
  return bundle;
}

/** Another artifact of the same worker: a last line makes it differ. */
export async function publishCopy(
  folder: string,
  project: string,
  bundle: Bundle,
  mark: string | number = project,
): Promise<void> {
  const code = `${bundle.code}\n// ${mark}\n`;
  const worker = { hash: hashOf(code), bytes: Buffer.byteLength(code), mapHash: null };
  const content = {
    manifest: { ...bundle.manifest, worker },
    worker: { code, map: null },
    assets: new Map(
      Object.keys(bundle.manifest.assets?.files ?? {}).map((file) => [file, path.join(bundle.files!, 'assets', file)]),
    ),
    encoded: encodedOf(bundle),
  };
  const { id: artifact } = await writeArtifact(path.join(folder, 'artifacts'), content, false);
  const id = `d${artifact.slice(0, 12)}`;
  const deployment = { id, artifact, branch: 'main', createdAt: '2026-01-01T00:00:00.000Z' };
  const route: RouteRecord = {
    version: 1,
    project,
    plan: 'free',
    vars: {},
    domains: [],
    production: id,
    branches: { main: id },
    deployments: { [id]: deployment },
  };
  writeFileSync(path.join(folder, 'routes', `${project}.json`), JSON.stringify(route));
}

/** Compressed forms of its files, by hash. */
function encodedOf({ files }: Bundle): Map<string, string> {
  const folder = files === undefined ? '' : path.join(files, 'encoded');
  if (!existsSync(folder)) return new Map();
  return new Map(readdirSync(folder).map((hash) => [hash, path.join(folder, hash)]));
}

/** A fresh data folder with a project of each name. @param bundle of all, or of each name. */
export async function publishCopies(
  bundle: Bundle | ((project: string) => Bundle),
  projects: readonly string[],
): Promise<string> {
  const folder = temporaryFolder();
  for (const part of ['artifacts', 'routes']) mkdirSync(path.join(folder, part));
  const of = typeof bundle === 'function' ? bundle : (): Bundle => bundle;
  for (const project of projects) await publishCopy(folder, project, of(project));
  return folder;
}

/** `name0`, `name1`, ... */
export function names(prefix: string, count: number): string[] {
  return Array.from({ length: count }, (_, i) => `${prefix}${i}`);
}

const loader = `export default {
  fetch(request, env) {
    const name = request.headers.get('host').split('.')[0];
    const code = env[name.split('-')[0]] + '\\n// ' + name + '\\n';
    const load = () => ({
      compatibilityDate: '2025-04-02',
      compatibilityFlags: FLAGS,
      mainModule: 'worker.js',
      modules: { 'worker.js': code },
    });
    return env.LOADER.get(name, load).getEntrypoint().fetch(request);
  },
};
`;

/**
 * workerd with one worker that loads another per host.
 *
 * @param bundle of all hosts, or those of hosts `<name>-...` by that name
 * @param target path and query of the first request @param flags compatibility flags of the worker
 */
export function startWorkerLoader(
  name: string,
  bundle: Bundle | Readonly<Record<string, Bundle>>,
  target = '/',
  flags: readonly string[] = [],
): Promise<Server> | string {
  const binary = workerdBinary();
  if (binary === null) return notInstalled;
  const folder = temporaryFolder('platform-bench-workerd-');
  const isOne = typeof bundle['code'] === 'string';
  const bundles = Object.entries(isOne ? { all: bundle as Bundle } : (bundle as Record<string, Bundle>));
  const code = isOne ? loader.replace("env[name.split('-')[0]]", 'env.all') : loader;
  writeFileSync(path.join(folder, 'loader.js'), code.replace('FLAGS', JSON.stringify(flags)));
  for (const [kind, { code }] of bundles) writeFileSync(path.join(folder, `${kind}.js`), code);
  const texts = bundles.map(([kind]) => `(name = "${kind}", text = embed "${kind}.js")`);
  const first = isOne ? 'first.localhost' : `${bundles[0]![0]}-0.localhost`;
  return startServer(name, first, target, (port) => {
    const config = `using Workerd = import "/workerd/workerd.capnp";
const config :Workerd.Config = (
  services = [(name = "main", worker = (
    modules = [(name = "loader", esModule = embed "loader.js")],
    bindings = [(name = "LOADER", workerLoader = (id = "bench")), ${texts.join(', ')}],
    compatibilityDate = "2025-04-02",
  ))],
  sockets = [(name = "http", address = "127.0.0.1:${port}", http = (), service = "main")],
);
`;
    writeFileSync(path.join(folder, 'config.capnp'), config);
    return { words: [binary, 'serve', '--experimental', path.join(folder, 'config.capnp')] };
  });
}
