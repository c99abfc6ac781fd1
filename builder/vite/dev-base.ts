// The base script of a dev worker: Vite's module runner, the handler wrapper, and the Node modules and globals that the
// code uses. The script defines one global name. Used by dev-worker.ts.
import { rolldown, type InputOptions } from 'rolldown';
import { cloudflarePlugin } from '../bundle/cloudflare-modules.ts';
import { workerResolve } from '../bundle/bundle.ts';
import { nodeCompatPlugin, nodeGlobals, ownPath } from '../bundle/node-compat.ts';

/** Requirements of a dev worker. */
interface BaseOptions {
  /** The file of `vite/module-runner` in the project's own Vite. */
  readonly runnerFile: string;
  /** Imported modules of the platform: `node:async_hooks`, `cloudflare:workers`. */
  readonly builtins: readonly string[];
  /** Node globals used somewhere. */
  readonly globals: readonly string[];
}

/** The global name that the base defines. */
export const BASE_NAME = '__platform';
const ENTRY_ID = '\0platform:dev-base';

/** Node globals that a worker may use; each adds the modules behind it. */
export const baseGlobals: readonly string[] = ['Buffer', 'process', 'setImmediate', 'clearImmediate'];

/** @throws the bundler's error for a module that does not exist. */
export async function bundleBase({ runnerFile, builtins, globals }: BaseOptions): Promise<string> {
  const injected = nodeGlobals();
  const needsNode = builtins.length > 0 || globals.length > 0;
  const lines = [
    `export { ModuleRunner } from ${JSON.stringify(runnerFile)};`,
    `export { createRunners } from ${JSON.stringify(ownPath('shims/vite-runner'))};`,
    `export { toHandler } from ${JSON.stringify(ownPath('shims/handler'))};`,
    `export { withWorkflowClasses } from ${JSON.stringify(ownPath('shims/workflow-classes'))};`,
    ...builtins.map((name, index) => `import * as b${index} from ${JSON.stringify(name)};`),
    `export const builtins = { ${builtins.map((name, index) => `${JSON.stringify(name)}: b${index}`).join(', ')} };`,
    ...globals.map((name) => {
      const [source, exported] = injected[name] as [string, string];
      return `export { ${exported} as ${name} } from ${JSON.stringify(source)};`;
    }),
  ];
  const options: InputOptions = {
    input: ENTRY_ID,
    platform: 'neutral',
    resolve: workerResolve,
    experimental: { attachDebugInfo: 'none' },
    transform: {
      target: 'es2024',
      define: { 'process.env.NODE_ENV': '"development"', 'import.meta.url': '"file:///worker.js"' },
      ...(needsNode ? { inject: injected } : {}),
    },
    onLog(_level, log) {
      if (log.code === 'UNRESOLVED_IMPORT') throw new Error(log.message);
    },
    plugins: [
      {
        name: 'platform:dev-base',
        resolveId: { filter: { id: /^\0platform:dev-base$/ }, handler: () => ENTRY_ID },
        load: { filter: { id: /^\0platform:dev-base$/ }, handler: () => lines.join('\n') },
      },
      cloudflarePlugin(),
      nodeCompatPlugin(true),
    ],
  };
  await using build = await rolldown(options);
  const { output } = await build.generate({ format: 'iife', name: BASE_NAME, codeSplitting: false, sourcemap: false });
  return output[0].code;
}
