// `platform()`: in dev the worker runs in the platform's isolate behind Vite's server; a build writes the input of
// `platform deploy`. The parts: frameworks.ts (the worker's entry), environment.ts (its Vite environment),
// worker-host.ts (keeps the engine up to date), dev-server.ts (which requests go there).
import { existsSync } from 'node:fs';
import path from 'node:path';
import type { Plugin, ResolvedConfig, UserConfig, ViteDevServer } from 'vite';
import { buildEnvironments, writeBuildOutput, type WrittenEnvironment } from './build-output.ts';
import { attachDevServer, type DevHandle } from './dev-server.ts';
import { WorkerDevEnvironment, workerEnvironmentOptions } from './environment.ts';
import {
  findWorkerEntry,
  REACT_ROUTER_DEFAULT_ENTRY,
  REACT_ROUTER_ENTRY,
  REACT_ROUTER_RENDERER,
  type WorkerEntry,
} from './frameworks.ts';
import { readProject, type PluginProject } from './project.ts';

/** Options of {@link platform}. */
export interface PlatformOptions {
  /** Path of the configuration file, relative to Vite's root; by default, it is `platform.yaml` there. */
  readonly config?: string;
  /** Names of Vite's environments that run in the isolate; by default those of the framework, else `worker`. */
  readonly viteEnvironment?: {
    /** Environment of the worker's entry. */
    readonly name?: string;
    /** Environments that the worker's entry loads itself, for example by `import.meta.viteRsc.loadModule`. */
    readonly childEnvironments?: readonly string[];
  };
}

/** Earlier versions of Vite lack hooks that the plugin needs. */
const VITE_MAJOR_MIN = 8;

/** The worker's entry in Vite. */
const ENTRY = 'virtual:platform/worker';
const PLUGIN_NAME = 'platform';
/** Non-code output of an environment that is only for the worker. */
const NOT_FOR_BROWSERS = /\.(?:map|wasm)$|^\.vite\//;

/**
 * The plugins of the platform, to spread into `plugins`.
 *
 * @example
 * import { platform } from '@platform-run/vite';
 * import { defineConfig } from 'vite';
 *
 * export default defineConfig({ plugins: [...platform()] });
 */
export function platform(options: PlatformOptions = {}): Plugin[] {
  let project: PluginProject;
  let entry: WorkerEntry;
  let resolved: ResolvedConfig;
  let dev: DevHandle | null = null;
  /** By environment name. */
  const built = new Map<string, WrittenEnvironment>();

  const isOfWorker = (name: string): boolean => name === entry.environment || entry.childEnvironments.includes(name);
  const createEnvironment = (name: string, config: ResolvedConfig): WorkerDevEnvironment =>
    new WorkerDevEnvironment(name, config, {
      changed: () => dev?.changed(),
      async fetch(request) {
        if (dev === null) throw new Error('The dev server is not listening yet');
        return dev.fetch(request);
      },
    });

  const main: Plugin = {
    name: PLUGIN_NAME,
    // Vite reads the configuration again for each environment of a build, and the environments need each other's
    // results.
    sharedDuringBuild: true,
    config(user, { command, mode }) {
      checkVersion((this as { meta?: { viteVersion?: string } } | undefined)?.meta?.viteVersion);
      const root = path.resolve(user.root ?? process.cwd());
      // Set by `platform vite --platform-config`.
      const config = options.config ?? process.env['PLATFORM_CONFIG'];
      project = readProject(root, config === undefined ? null : path.resolve(root, config));
      entry = findWorkerEntry(root, project.main, options.viteEnvironment ?? {});
      const environments = [entry.environment, ...entry.childEnvironments].map((name) => [
        name,
        workerEnvironmentOptions(
          name !== entry.environment ? null : entry.isNamedByEntry ? ENTRY : { index: ENTRY },
          entry.isFramework ? null : path.join(user.build?.outDir ?? 'dist', name),
          process.env['NODE_ENV'] ?? mode,
          entry.unbundled,
          createEnvironment,
        ),
      ]);
      return {
        // The worker renders the pages of a framework; without a framework, pages are files.
        appType: entry.isFramework || !existsSync(path.join(root, 'index.html')) ? 'custom' : 'mpa',
        environments: {
          ...(Object.fromEntries(environments) as Record<string, object>),
          ...(!entry.isFramework && {
            client: { build: { outDir: path.join(user.build?.outDir ?? 'dist', 'client') } },
          }),
        },
        builder: {},
        ...(command === 'serve' && {
          server: { port: user.server?.port ?? project.port, host: user.server?.host ?? project.host },
        }),
      };
    },
    configResolved(config) {
      resolved = config;
      if (config.plugins.filter(({ name }) => name === PLUGIN_NAME).length > 1)
        throw new Error('platform() is in the Vite configuration twice: remove one of them');
      if (config.plugins.some(({ name }) => name.startsWith('nitro:')))
        throw new Error(
          'nitro() and platform() are both in the Vite configuration, and each builds the worker: remove nitro()',
        );
    },
    resolveId: {
      filter: { id: /^virtual:platform\// },
      handler(id) {
        return isOfWorker(this.environment.name) ? `\0${id}` : null;
      },
    },
    load: {
      filter: { id: [/^\0virtual:platform\//, REACT_ROUTER_DEFAULT_ENTRY] },
      handler(id) {
        if (REACT_ROUTER_DEFAULT_ENTRY.test(id))
          return isOfWorker(this.environment.name) ? REACT_ROUTER_RENDERER : null;
        if (id !== `\0${ENTRY}`) return REACT_ROUTER_ENTRY;
        const main = JSON.stringify(entry.main);
        return `import * as worker from ${main};\nexport * from ${main};\nexport default worker['default'];\n`;
      },
    },
    async configureServer(server: ViteDevServer) {
      dev = await attachDevServer(server, { project, entry, url: ENTRY, config: resolved });
      return () => dev!.serve();
    },
    writeBundle({ dir }, bundle) {
      if (!isOfWorker(this.environment.name) || dir === undefined) return;
      const files = Object.values(bundle);
      const main = files.find((file) => file.type === 'chunk' && file.isEntry && file.facadeModuleId === `\0${ENTRY}`);
      const assets = files.filter(({ type, fileName }) => type === 'asset' && !NOT_FOR_BROWSERS.test(fileName));
      built.set(this.environment.name, {
        folder: path.resolve(resolved.root, dir),
        entry: main?.fileName ?? null,
        assets: assets.map(({ fileName }) => fileName),
      });
    },
    buildApp: {
      order: 'post',
      handler: (builder) => buildEnvironments(builder, entry),
    },
    hotUpdate: {
      order: 'pre',
      async handler({ type, file, read }) {
        // Vite calls this hook once for each environment, even for environments that do not use the file.
        if (this.environment.name !== entry.environment) return;
        // A file being written may be empty for a moment: Vite waits for its text here.
        if (type === 'update') await read();
        dev?.noticed(file);
      },
    },
    async closeBundle() {
      await dev?.close();
    },
  };

  return [
    main,
    {
      name: 'platform:output',
      sharedDuringBuild: true,
      // Runs after plugins that prerender pages with the build.
      enforce: 'post',
      buildApp: {
        order: 'post',
        async handler(builder) {
          const names = [entry.environment, ...entry.childEnvironments];
          writeBuildOutput(
            builder,
            project.folder,
            names.map((name) => built.get(name)),
          );
        },
      },
    },
    {
      // The React server framework looks for a plugin of this name before it creates a worker.
      name: 'vite-plugin-cloudflare:platform',
      enforce: 'pre',
      // This plugin handles requests: the framework's own handler would run the worker in Node.
      config: () => ({ rsc: { serverHandler: false } }) as UserConfig,
    },
  ];
}

/** @param version the version of the running Vite; versions before 7, and direct calls of hooks, do not report it. */
function checkVersion(version: string | undefined): void {
  if (version === undefined || Number(version.split('.')[0]) >= VITE_MAJOR_MIN) return;
  throw new Error(
    `platform() needs Vite ${VITE_MAJOR_MIN} or later, and this is Vite ${version}: npm install --save-dev vite@${VITE_MAJOR_MIN}`,
  );
}
