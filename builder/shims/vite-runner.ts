// Runs inside the isolate with the Vite plugin: Vite's module runner for the modules in the bundle
// (builder/vite/dev-worker.ts adds them). Dynamic imports of unknown modules are requested from the plugin's private
// port.

/** `ModuleRunner` of the project's own Vite. */
type ModuleRunner = new (
  options: object,
  evaluator: object,
) => { import(url: string): Promise<Record<string, unknown>> };

type Body = (
  exports: unknown,
  importMeta: unknown,
  importStatic: unknown,
  importDynamic: unknown,
  exportAll: unknown,
  exportName: unknown,
) => Promise<void>;

/** A module in the bundle: its id, file and code. */
type BundledModule = readonly [id: string, file: string | null, body: Body];

/** Environment -> URL of a module -> the module. */
type BundledModules = Readonly<Record<string, Readonly<Record<string, BundledModule>>>>;

interface Answer {
  readonly result?: { readonly id: string; readonly code?: string };
  readonly error?: unknown;
}

// These global functions are saved before a worker can replace them.
const { fetch } = globalThis;
const AsyncFunction = (async () => {}).constructor as new (...parameters: string[]) => Body;

/**
 * @param Runner the class `ModuleRunner` of the project's own Vite
 * @param channel requests modules that are not in the bundle from the plugin
 * @param builtins modules of the platform by name
 * @returns `(environment, url) => namespace`
 */
export function createRunners(
  Runner: ModuleRunner,
  modules: BundledModules,
  channel: string,
  builtins: Readonly<Record<string, unknown>>,
): (environment: string, url: string) => Promise<Record<string, unknown>> {
  const runners = new Map<string, InstanceType<ModuleRunner>>();

  function open(environment: string): InstanceType<ModuleRunner> {
    const table = modules[environment];
    if (table === undefined)
      throw new Error(
        `There is no environment "${environment}" in this worker: add it to viteEnvironment.childEnvironments of platform()`,
      );
    const bodies = new Map<string, Body>();
    const evaluator = {
      async runInlinedModule(context: Record<string, unknown>, _code: string, { id }: { id: string }): Promise<void> {
        const body = bodies.get(id)!;
        await body(
          context.__vite_ssr_exports__,
          context.__vite_ssr_import_meta__,
          context.__vite_ssr_import__,
          context.__vite_ssr_dynamic_import__,
          context.__vite_ssr_exportAll__,
          context.__vite_ssr_exportName__,
        );
        Object.seal(context.__vite_ssr_exports__);
      },
      async runExternalModule(name: string): Promise<unknown> {
        if (Object.hasOwn(builtins, name)) return builtins[name];
        throw new Error(`${name} was first asked for while the worker ran: it is there from the next request on`);
      },
    };
    return new Runner(
      {
        hmr: false,
        sourcemapInterceptor: false,
        transport: {
          async invoke({ data: { name, data } }: { data: { name: string; data: unknown[] } }) {
            if (name !== 'fetchModule') return { result: [] };
            const url = data[0] as string;
            if (Object.hasOwn(builtins, url)) return { result: { externalize: url, type: 'builtin' } };
            const bundled = table[url];
            if (bundled !== undefined) {
              const [id, file, body] = bundled;
              bodies.set(id, body);
              return { result: { id, file, url, code: '//', invalidate: false } };
            }
            const answer = await ask(environment, url, data);
            const { result } = answer;
            if (result?.code !== undefined)
              bodies.set(
                result.id,
                new AsyncFunction(
                  '__vite_ssr_exports__',
                  '__vite_ssr_import_meta__',
                  '__vite_ssr_import__',
                  '__vite_ssr_dynamic_import__',
                  '__vite_ssr_exportAll__',
                  '__vite_ssr_exportName__',
                  `"use strict";${result.code}`,
                ),
              );
            return answer;
          },
        },
      },
      evaluator,
    );
  }

  async function ask(environment: string, url: string, data: unknown): Promise<Answer> {
    try {
      const response = await fetch(channel, { method: 'POST', body: JSON.stringify({ environment, data }) });
      return (await response.json()) as Answer;
    } catch (error) {
      throw new Error(`${url} cannot be loaded: ${(error as Error).message}`, { cause: error });
    }
  }

  return async (environment, url) => {
    let runner = runners.get(environment);
    if (runner === undefined) runners.set(environment, (runner = open(environment)));
    return runner.import(url);
  };
}
