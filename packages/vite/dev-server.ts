// The dev server's half: an engine for the project, keeping its worker up to date, and proxying requests to it. Vite
// serves its own files; everything else goes to the worker.
import { readFileSync } from 'node:fs';
import type { IncomingMessage, ServerResponse } from 'node:http';
import path from 'node:path';
import type { ResolvedConfig, ViteDevServer } from 'vite';
import { isProjectFailure, startEngine, type EngineProcess, type EngineStart } from './engine-process.ts';
import { dispatch, forward, forwardUpgrade } from './forward.ts';
import type { WorkerEntry } from './frameworks.ts';
import { isNavigation, isPage, isRead, isVitesOwn, missingPage } from './pages.ts';
import { readProject, type PluginProject } from './project.ts';
import { openWorkerHost, type WorkerHost } from './worker-host.ts';
import { isWorkerFirst } from './worker-first.ts';

/** A dev server with a worker. */
export interface DevHandle {
  /** Vite has invalidated the modules of a file after one save. */
  noticed(file: string): void;
  /** Modules of the worker have changed. */
  changed(): void;
  /** Handles the requests that Vite does not answer. */
  serve(): void;
  fetch(request: Request): Promise<Response>;
  close(): Promise<void>;
}

interface DevServerDeps {
  readonly project: PluginProject;
  readonly entry: WorkerEntry;
  /** URL of the worker's entry module. */
  readonly url: string;
  readonly config: ResolvedConfig;
}

/** The dashboard's port: from the options of `platform dev`, else 1000 above the server's port, else a free port. */
function dashboardPort(port: number): number {
  const told = Number(process.env['PLATFORM_DASHBOARD_PORT'] ?? NaN);
  if (Number.isInteger(told) && told >= 0 && told <= 65_535) return told;
  return port === 0 || port + 1000 > 65_535 ? 0 : port + 1000;
}

const CONFIGURATION = /^(?:platform\.ya?ml|\.env(?:\.local)?|\.dev\.vars)$/;

export async function attachDevServer(server: ViteDevServer, deps: DevServerDeps): Promise<DevHandle> {
  const { project, entry, url, config } = deps;
  const host = typeof config.server.host === 'string' ? config.server.host : 'localhost';
  const { port } = config.server;
  const engine = takeEngine(
    {
      folder: project.folder,
      config: project.configFile,
      host,
      port,
      dashboardPort: dashboardPort(port),
      verbose: false,
    },
    (line) => config.logger.info(line),
  );
  const folders = { root: config.root, publicFolder: config.publicDir === '' ? null : config.publicDir };
  /** Whether Vite serves an HTML file as a page. */
  const isVitesPage = (url: string | undefined): boolean => config.appType !== 'custom' && isPage(config.root, url);
  let { assets } = project;
  /** Requests that the worker made for a file. They are not sent back to the worker. */
  const forFiles = new WeakSet<IncomingMessage>();
  /** The last reported error, or null. */
  let failing: string | null = null;
  let opened: WorkerHost | null = null;
  let opening: Promise<WorkerHost> | null = null;
  const worker = (): Promise<WorkerHost> => (opening ??= open());
  async function open(): Promise<WorkerHost> {
    opened = await openWorkerHost({
      engine: engine.process,
      folder: project.folder,
      environments: [entry.environment, ...entry.childEnvironments].map((name) => server.environments[name]!),
      entry: url,
      folders,
      serveFile(request, response) {
        forFiles.add(request);
        server.middlewares(request, response, (error: unknown) =>
          response.writeHead(error === undefined ? 404 : 500).end(),
        );
      },
      told,
    });
    return opened;
  }

  function told(error: unknown): void {
    if (error === null) {
      if (failing !== null) server.environments['client']!.hot.send({ type: 'full-reload', path: '*' });
      failing = null;
      return;
    }
    const shown = shownError(error);
    if (failing === shown.message) return;
    failing = shown.message;
    config.logger.error(`${shown.message}${shown.frame === undefined ? '' : `\n${shown.frame}`}`, {
      error: shown,
      timestamp: true,
    });
    const { message, stack = '', frame, id, loc } = shown;
    server.environments['client']!.hot.send({
      type: 'error',
      err: {
        message,
        stack,
        ...(frame !== undefined && { frame }),
        ...(id !== undefined && { id }),
        ...(loc !== undefined && { loc }),
      },
    });
  }

  const settled = async (): Promise<number> => (await worker()).settled();

  function forwardToWorker(request: IncomingMessage, response: ServerResponse, next: (error?: unknown) => void): void {
    settled().then(
      (to) => forward(to, request, response, next),
      (error: unknown) => next(shownError(error)),
    );
  }

  server.middlewares.use((request, response, next) => {
    if (forFiles.has(request) || !isWorkerFirst(assets, request) || isVitesOwn(folders, config.base, request.url))
      return next();
    forwardToWorker(request, response, next);
  });
  server.httpServer?.once('listening', () => {
    const address = server.httpServer!.address();
    if (address !== null && typeof address === 'object') engine.process.moved(host, address.port);
    worker().then((one) => one.changed(), told);
  });
  server.httpServer?.on('upgrade', (request, socket, head) => {
    if (request.headers['sec-websocket-protocol']?.startsWith('vite-') === true) return;
    settled().then(
      (to) => forwardUpgrade(to, request, socket, head),
      () => socket.destroy(),
    );
  });
  server.watcher.on('all', (_event, file) => {
    const names = [entry.environment, ...entry.childEnvironments];
    // Without HMR, Vite does not report a save: the next request detects the invalidated modules.
    const saved = file.replaceAll('\\', '/');
    if (
      config.server.hmr !== false &&
      names.some((name) => server.environments[name]!.moduleGraph.getModulesByFile(saved)?.size)
    )
      opened?.saved(saved);
    if (CONFIGURATION.test(path.basename(file))) ({ assets } = readProject(project.folder, project.configFile));
    if (CONFIGURATION.test(path.basename(file)) || /[\\/]migrations[\\/].*\.sql$/.test(file)) opened?.reload();
  });
  if (project.configFile !== null) server.watcher.add(project.configFile);

  const close = async (): Promise<void> => {
    await opened?.close();
    opened = null;
    await engine.release();
  };
  server.httpServer?.once('close', () => void close());

  return {
    noticed: (file) => opened?.noticed(file),
    changed: () => opened?.changed(),
    serve() {
      server.middlewares.use((request, response, next) => {
        // Vite has already changed the URL to the page that it will serve.
        if (isRead(request.method) && isVitesPage(request.url)) return next();
        if (forFiles.has(request)) return response.writeHead(404).end();
        if (isNavigation(request)) {
          if (assets.notFoundHandling === 'single-page-application' && isVitesPage('/index.html')) {
            request.url = '/index.html';
            return next();
          }
          const page = assets.notFoundHandling === '404-page' ? missingPage(folders, request.url) : null;
          if (page !== null) {
            server.transformIndexHtml(request.url ?? '/', readFileSync(page, 'utf8')).then((html) => {
              response.writeHead(404, { 'content-type': 'text/html;charset=utf-8' });
              response.end(request.method === 'HEAD' ? undefined : html);
            }, next);
            return;
          }
        }
        forwardToWorker(request, response, next);
      });
    },
    fetch: async (request) => dispatch(await settled(), request),
    close,
  };
}

/** An error with the fields that Vite's error overlay shows. */
type ShownError = Error & {
  readonly frame?: string;
  readonly id?: string;
  readonly loc?: { readonly file: string; readonly line: number; readonly column: number };
};

/** An error with its position, if it has one. */
function shownError(error: unknown): ShownError {
  if (!isProjectFailure(error)) return error instanceof Error ? error : new Error(String(error));
  const [first] = error.failures;
  const { file, line, column, frame } = first ?? {};
  return Object.assign(error, {
    ...(file !== undefined && { id: file }),
    ...(file !== undefined && line !== undefined && { loc: { file, line, column: column ?? 1 } }),
    ...(frame !== undefined && { frame }),
  });
}

/**
 * Engines by their start options. Vite creates its next server before it closes the last one, and both use the same
 * engine.
 */
const engines = new Map<string, { readonly process: EngineProcess; users: number }>();

function takeEngine(
  start: EngineStart,
  onLine: (line: string) => void,
): { readonly process: EngineProcess; release(): Promise<void> } {
  const key = JSON.stringify(start);
  let taken = engines.get(key);
  if (taken === undefined) {
    taken = { process: startEngine(start, onLine), users: 0 };
    engines.set(key, taken);
    const made = taken;
    void made.process.ended.then(() => engines.get(key) === made && engines.delete(key));
  }
  taken.users++;
  const mine = taken;
  let isReleased = false;
  return {
    process: mine.process,
    async release() {
      if (isReleased) return;
      isReleased = true;
      if (--mine.users === 0) await mine.process.close();
    },
  };
}
