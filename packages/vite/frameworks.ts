// The entry module of a worker, and its Vite environment: the project's own, or that of a framework it depends on.
import { existsSync, readFileSync } from 'node:fs';
import path from 'node:path';

/** Entry of a worker. */
export interface WorkerEntry {
  /** Import specifier: an absolute file, or a module of a package. */
  readonly main: string;
  /** Names of the environments: its own, and others in the same isolate. */
  readonly environment: string;
  readonly childEnvironments: readonly string[];
  /** Whether a framework renders the pages. */
  readonly isFramework: boolean;
  /** Packages that Vite does not bundle in dev. */
  readonly unbundled: readonly string[];
  /** Whether the worker's file is named after its entry, else `index.js`. */
  readonly isNamedByEntry: boolean;
}

/** A Vite framework that exports its server as a module. */
interface Framework {
  /** The package that identifies the framework. */
  readonly dependency: string;
  readonly main: string;
  readonly environment: string;
  readonly childEnvironments: readonly string[];
  /** Packages that Vite would bundle partly and also load unbundled, which would duplicate their state. */
  readonly unbundled?: readonly string[];
  /** The framework prerenders pages with the worker, and finds its file by the name of the entry. */
  readonly isNamedByEntry?: true;
}

const frameworks: readonly Framework[] = [
  { dependency: 'vinext', main: 'vinext/server/fetch-handler', environment: 'rsc', childEnvironments: ['ssr'] },
  {
    dependency: '@tanstack/react-start',
    main: '@tanstack/react-start/server-entry',
    environment: 'ssr',
    childEnvironments: [],
    isNamedByEntry: true,
  },
  {
    dependency: '@solidjs/start',
    main: 'solid-start:server-entry',
    environment: 'ssr',
    childEnvironments: [],
    unbundled: ['@solidjs/start'],
  },
  { dependency: '@react-router/dev', main: 'virtual:platform/react-router', environment: 'ssr', childEnvironments: [] },
];

const OWN_ENTRIES = ['worker/index.ts', 'worker/index.js', 'worker/index.mjs'];

/** Environments in the options of `platform()`. */
interface EnvironmentNames {
  readonly name?: string | undefined;
  readonly childEnvironments?: readonly string[] | undefined;
}

/**
 * @param root Vite's root. @param main `main` of platform.yaml; takes precedence.
 * @throws without an entry, listing the searched paths.
 */
export function findWorkerEntry(root: string, main: string | null, names: EnvironmentNames): WorkerEntry {
  const own = main === null ? OWN_ENTRIES.find((name) => existsSync(path.join(root, name))) : main;
  const framework = frameworks.find(({ dependency }) => dependenciesOf(root).has(dependency));
  if (main !== null && !existsSync(path.resolve(root, main)))
    throw new Error(
      `main: ${main} of platform.yaml does not exist in ${root}: name the file that the worker starts at`,
    );
  if (own === undefined && framework === undefined)
    throw new Error(
      `platform() found no worker in ${root}: create one of ${OWN_ENTRIES.join(', ')}, or name its file as "main" in platform.yaml`,
    );
  return {
    main: own === undefined ? framework!.main : path.resolve(root, own),
    environment: names.name ?? framework?.environment ?? 'worker',
    childEnvironments: names.childEnvironments ?? framework?.childEnvironments ?? [],
    isFramework: framework !== undefined,
    unbundled: framework?.unbundled ?? [],
    isNamedByEntry: framework?.isNamedByEntry === true,
  };
}

function dependenciesOf(root: string): Set<string> {
  try {
    const manifest = JSON.parse(new TextDecoder().decode(readFileSync(path.join(root, 'package.json')))) as Record<
      string,
      object
    >;
    return new Set([...Object.keys(manifest['dependencies'] ?? {}), ...Object.keys(manifest['devDependencies'] ?? {})]);
  } catch {
    return new Set();
  }
}

/** The server of React Router, which exports a build and leaves the handler to its host. */
export const REACT_ROUTER_ENTRY = `import { createRequestHandler } from 'react-router';
import * as build from 'virtual:react-router/server-build';
const handle = createRequestHandler(build, import.meta.env.MODE);
export default { fetch: (request) => handle(request) };
`;

/** React Router's default `entry.server` for apps without one, which is written for Node's streams. */
export const REACT_ROUTER_DEFAULT_ENTRY = /@react-router\/dev\/dist\/config\/defaults\/entry\.server\.node\.tsx$/;
export const REACT_ROUTER_RENDERER = `import { isbot } from 'isbot';
import { createElement } from 'react';
import { renderToReadableStream } from 'react-dom/server';
import { ServerRouter } from 'react-router';
export const streamTimeout = 5000;
export default async function handleRequest(request, status, headers, context) {
  if (request.method === 'HEAD') return new Response(null, { status, headers });
  let isBegun = false;
  let code = status;
  const body = await renderToReadableStream(createElement(ServerRouter, { context, url: request.url }), {
    signal: AbortSignal.timeout(streamTimeout + 1000),
    onError(error) {
      code = 500;
      if (isBegun) console.error(error);
    },
  });
  isBegun = true;
  if (context.isSpaMode || isbot(request.headers.get('user-agent') ?? '')) await body.allReady;
  headers.set('content-type', 'text/html');
  return new Response(body, { status: code, headers });
}
`;
