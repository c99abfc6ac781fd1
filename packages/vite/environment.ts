// The Vite environment whose code runs in the platform's isolate, in dev and for builds.
import { builtinModules } from 'node:module';
import { DevEnvironment, type EnvironmentOptions, type HotChannel, type HotPayload, type ResolvedConfig } from 'vite';

/** Module names that the platform provides; everything else is bundled. */
const platformBuiltins: (string | RegExp)[] = [
  /^node:/,
  /^cloudflare:/,
  ...builtinModules.filter((name) => !name.startsWith('_')),
];

/** Receives events of an environment. */
interface EnvironmentEvents {
  /** Modules of the environment have changed, which Vite would report to the runner. */
  changed(): void;
  /** Calls the worker. */
  fetch(request: Request): Promise<Response>;
}

/** A server environment whose modules Node never runs. */
export class WorkerDevEnvironment extends DevEnvironment {
  #events: EnvironmentEvents;

  constructor(name: string, config: ResolvedConfig, events: EnvironmentEvents) {
    const transport: HotChannel = {
      skipFsCheck: true,
      send(payload: HotPayload) {
        if (payload.type === 'full-reload' || payload.type === 'update') events.changed();
      },
      on() {},
      off() {},
      listen() {},
      close() {},
    };
    super(name, config, { hot: true, transport });
    this.#events = events;
  }

  /** The API that Vite frameworks use: the worker's response to a request. */
  dispatchFetch(request: Request): Promise<Response> {
    return this.#events.fetch(request);
  }
}

/**
 * @param input entry module of a build; null for an environment that others load.
 * @param outDir output of a build; null if the framework decides. @param nodeEnv the value of `process.env.NODE_ENV`,
 * known to bundlers: packages choose their files by it. @param unbundled the packages that Vite does not bundle in dev.
 * @param createEnvironment the function of the dev server's Vite.
 */
export function workerEnvironmentOptions(
  input: string | Readonly<Record<string, string>> | null,
  outDir: string | null,
  nodeEnv: string,
  unbundled: readonly string[],
  createEnvironment: (name: string, config: ResolvedConfig) => DevEnvironment,
): EnvironmentOptions {
  const define = Object.fromEntries(
    ['', 'global.', 'globalThis.'].map((prefix) => [`${prefix}process.env.NODE_ENV`, JSON.stringify(nodeEnv)]),
  );
  return {
    consumer: 'server',
    keepProcessEnv: true,
    define,
    resolve: {
      noExternal: true,
      conditions: ['workerd', 'worker', 'module', 'browser', 'development|production'],
      builtins: platformBuiltins,
    },
    optimizeDeps: {
      noDiscovery: false,
      ignoreOutdatedRequests: true,
      exclude: [...platformBuiltins.filter((name) => typeof name === 'string'), ...unbundled],
      rolldownOptions: { platform: 'neutral', transform: { define } },
    },
    build: {
      ssr: true,
      ...(outDir === null ? {} : { outDir }),
      target: 'es2024',
      emitAssets: true,
      copyPublicDir: false,
      sourcemap: true,
      rolldownOptions: {
        platform: 'neutral',
        ...(input === null ? {} : { input }),
        preserveEntrySignatures: 'strict',
      },
    },
    dev: { createEnvironment },
  };
}
