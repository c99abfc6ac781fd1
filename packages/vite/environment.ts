// The Vite environment whose code runs in the platform's isolate, in dev and for the build.
import { builtinModules } from 'node:module';
import { DevEnvironment, type EnvironmentOptions, type HotChannel, type HotPayload, type ResolvedConfig } from 'vite';

/** Names of modules that the platform has itself; everything else is bundled. */
export const platformBuiltins: (string | RegExp)[] = [
  /^node:/,
  /^cloudflare:/,
  ...builtinModules.filter((name) => !name.startsWith('_')),
];

/** Hears of what an environment goes through. */
export interface EnvironmentEvents {
  /** Its modules are others; Vite would tell the runner. */
  changed(): void;
  /** Answers as the worker does. */
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

  /** What frameworks over Vite look for: the worker's answer to a request. */
  dispatchFetch(request: Request): Promise<Response> {
    return this.#events.fetch(request);
  }
}

/**
 * @param input the module that a build starts at; null of an environment that others load.
 * @param outDir where a build goes; null: where the framework says.
 * @param nodeEnv what `process.env.NODE_ENV` is, known to bundlers: packages choose their files by it.
 * @param unbundled packages that Vite leaves as they are in dev.
 * @param createEnvironment of the dev server.
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
