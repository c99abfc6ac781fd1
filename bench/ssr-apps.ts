// Apps of frameworks as built for each platform: our build, the framework's own build for workerd, and its own Node
// server. Created in a temporary folder from the app of the table of frameworks; used by ssr-page.bench.ts.
import { mkdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import path from 'node:path';
import { build } from '../builder/build/build.ts';
import { parseProjectConfig } from '../core/config/project-config.ts';
import { runProgram } from '../cli/tasks/tools/processes.ts';
import { addPackage, makeProject } from '../test/frameworks/project.ts';
import { rows } from '../test/frameworks/rows.ts';
import { temporaryFolder } from './cleanup.ts';
import type { Bundle } from './deployments.ts';

/** How an app of a framework is made for the others. */
interface Recipe {
  /** Its folder in `test/frameworks/apps/`. */
  readonly app: string;
  /** A page that is rendered on each request. */
  readonly target: string;
  /** Packages of the other builds, each of one version. */
  readonly packages: readonly string[];
  /** The command that builds it. */
  readonly build: readonly string[];
  /** What is replaced in which file before a build for the others, and what comes out. */
  readonly workerd: {
    readonly edits: Edits;
    /** Files that its authors have and ours do without; a module of the app's packages is copied. */
    readonly files: readonly { readonly file: string; readonly text?: string; readonly copyOf?: string }[];
    readonly main: string;
    /** Of wrangler's output. */
    readonly made: string;
    readonly assets: string | null;
    /** Left out of the bundle: a cache in front of the app, which workerd by itself has not. */
    readonly cacheLookup: RegExp | null;
  };
  /** `start`: what Node is given. */
  readonly node: { readonly edits: Edits; readonly start: readonly string[] };
}

type Edits = readonly (readonly [file: string, from: string, to: string])[];

/** An app, built three times. */
export interface SsrApp {
  readonly name: string;
  readonly target: string;
  /** Ours. */
  readonly bundle: Bundle;
  /** One module, as wrangler makes it. */
  readonly workerd: Bundle;
  /** What Node starts, with PORT and HOST: a file, and what it is given. */
  readonly server: readonly string[];
}

/** As Cloudflare's template for React Router has it, with its build in the same module: the loader takes one. */
const REACT_ROUTER_WORKER = `import { createRequestHandler } from 'react-router';
import * as build from 'virtual:react-router/server-build';

const handle = createRequestHandler(build, import.meta.env.MODE);
export default { fetch: (request: Request) => handle(request) };
`;

export const recipes: readonly Recipe[] = [
  {
    app: 'sveltekit',
    target: '/?name=Ada',
    packages: ['@sveltejs/adapter-cloudflare@7.2.9', '@sveltejs/adapter-node@5.5.6'],
    build: ['npx', 'vite', 'build'],
    workerd: {
      edits: [['svelte.config.js', '@sveltejs/adapter-auto', '@sveltejs/adapter-cloudflare']],
      files: [],
      main: '.svelte-kit/cloudflare/_worker.js',
      made: '_worker.js',
      assets: '.svelte-kit/cloudflare',
      cacheLookup: /!pragma\.includes\("no-cache"\) && await \w+\(req\)/,
    },
    node: {
      edits: [['svelte.config.js', '@sveltejs/adapter-auto', '@sveltejs/adapter-node']],
      start: ['build/index.js'],
    },
  },
  {
    app: 'react-router',
    target: '/?name=Ada',
    packages: ['@cloudflare/vite-plugin@1.64.0'],
    build: ['npx', 'react-router', 'build'],
    workerd: {
      edits: [
        ['vite.config.ts', `{ platform } from '@platform-run/vite'`, `{ cloudflare } from '@cloudflare/vite-plugin'`],
        ['vite.config.ts', '...platform()', `cloudflare({ viteEnvironment: { name: 'ssr' } })`],
      ],
      files: [
        { file: 'workers/app.ts', text: REACT_ROUTER_WORKER },
        {
          file: 'app/entry.server.tsx',
          copyOf: 'node_modules/@react-router/dev/dist/config/defaults/entry.server.web.tsx',
        },
      ],
      main: 'workers/app.ts',
      made: 'index.js',
      assets: null,
      cacheLookup: null,
    },
    node: {
      edits: [
        ['vite.config.ts', `import { platform } from '@platform-run/vite';\n`, ''],
        ['vite.config.ts', ', ...platform()', ''],
      ],
      start: ['node_modules/@react-router/serve/bin.cjs', 'build/server/index.js'],
    },
  },
];

/** What the framework's own build for workerd wants. */
export const WORKERD_FLAGS: readonly string[] = ['nodejs_als'];

/** What bundles a worker for workerd; it goes with the workerd of bench/package.json. */
const WRANGLER = 'wrangler@4.164.0';

/** Installs and builds an app; some seconds. */
export async function makeApp({ app, target, packages, build: command, workerd, node }: Recipe): Promise<SsrApp> {
  const folder = path.join(temporaryFolder('platform-bench-ssr-'), app);
  const env = {
    ...process.env,
    PATH: `${path.dirname(process.execPath)}:${process.env['PATH']}`,
    WRANGLER_SEND_METRICS: 'false',
  };
  const run = async (...[program, ...words]: readonly string[]): Promise<void> => {
    const { code, output } = await runProgram(program!, words, { cwd: folder, env });
    if (code !== 0) throw new Error(`${app}: ${[program, ...words].join(' ')} failed:\n${output.slice(-2000)}`);
  };
  const row = rows.find((other) => other.app === app)!;
  await makeProject({ ...row, packages: [] }, folder, env);
  // Before ours, which are in no registry.
  await run('npm', 'install', '--no-save', '--no-package-lock', '--no-audit', '--no-fund', WRANGLER, ...packages);
  for (const name of row.packages ?? []) await addPackage(folder, name);
  const { config } = parseProjectConfig(`kind: dynamic\nbuild: ${command.join(' ')}\n`, { file: 'platform.yaml' });
  const artifact = await build({ root: folder, config: config!, artifacts: path.join(folder, 'artifacts') });
  const bundle: Bundle = {
    name: app,
    code: readFileSync(path.join(artifact.folder, 'worker.js'), 'utf8'),
    // Its files are never asked for.
    manifest: { ...artifact.manifest, assets: null },
  };
  writeFileSync(path.join(folder, 'wrangler.json'), JSON.stringify(wranglerConfig(workerd)));
  for (const { file, text, copyOf } of workerd.files) {
    mkdirSync(path.join(folder, path.dirname(file)), { recursive: true });
    writeFileSync(path.join(folder, file), text ?? readFileSync(path.join(folder, copyOf!), 'utf8'));
  }
  await withEdits(folder, workerd.edits, () => run(...command));
  await run('npx', 'wrangler', 'deploy', '--dry-run', '--outdir', 'out');
  for (const { file } of workerd.files) rmSync(path.join(folder, file));
  await withEdits(folder, node.edits, () => run(...command));
  const made = readFileSync(path.join(folder, 'out', workerd.made), 'utf8');
  const code = workerd.cacheLookup === null ? made : made.replace(workerd.cacheLookup, 'false');
  if (workerd.cacheLookup !== null && code === made)
    throw new Error(`${app}: the worker for workerd has no ${workerd.cacheLookup}`);
  const [file, ...words] = node.start.map((word) => path.join(folder, word));
  return { name: app, target, bundle, workerd: { ...bundle, code }, server: [file!, ...words] };
}

function wranglerConfig({ main, assets }: Recipe['workerd']): object {
  return {
    name: 'app',
    main,
    compatibility_date: '2026-07-01',
    compatibility_flags: WORKERD_FLAGS,
    ...(assets === null ? {} : { assets: { directory: assets, binding: 'ASSETS' } }),
  };
}

async function withEdits(folder: string, edits: Edits, work: () => Promise<void>): Promise<void> {
  const before = edits.map(([file]) => [file, readFileSync(path.join(folder, file), 'utf8')] as const);
  for (const [file, from, to] of edits) {
    const text = readFileSync(path.join(folder, file), 'utf8');
    if (!text.includes(from)) throw new Error(`${file} does not say ${from}`);
    writeFileSync(path.join(folder, file), text.replace(from, to));
  }
  await work();
  for (const [file, text] of before) writeFileSync(path.join(folder, file), text);
}
