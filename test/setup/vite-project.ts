// A project for Vite in a folder of its own, and the dev server that the Vite plugin runs behind, in this process; the
// engine is a child as it is for users.
import { once } from 'node:events';
import { get, type IncomingMessage } from 'node:http';
import { mkdirSync, mkdtempSync, realpathSync, rmSync, symlinkSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { text } from 'node:stream/consumers';
import type { TestContext } from 'node:test';
import { createLogger, createServer, type InlineConfig, type ViteDevServer } from 'vite';
import { platform, type PlatformOptions } from '#packages/vite/index.ts';

const root = path.resolve(import.meta.dirname, '../..');

/** Writes files into a new folder where `vite` and the plugin are found. */
export function viteProject(context: TestContext, files: Readonly<Record<string, string>>): string {
  const folder = realpathSync(mkdtempSync(path.join(tmpdir(), 'vite-project-')));
  context.after(() => rmSync(folder, { recursive: true, force: true }));
  mkdirSync(path.join(folder, 'node_modules/@platform-run'), { recursive: true });
  symlinkSync(path.join(root, 'node_modules/vite'), path.join(folder, 'node_modules/vite'));
  symlinkSync(path.join(root, 'packages/vite'), path.join(folder, 'node_modules/@platform-run/vite'));
  for (const [name, content] of Object.entries({ 'package.json': '{"type":"module"}', ...files }))
    write(folder, name, content);
  return folder;
}

export function write(folder: string, name: string, content: string): void {
  mkdirSync(path.dirname(path.join(folder, name)), { recursive: true });
  writeFileSync(path.join(folder, name), content);
}

/** A dev server that listens. */
interface RunningVite {
  readonly server: ViteDevServer;
  readonly url: string;
  /** What was written to the log, from the beginning. */
  readonly lines: readonly string[];
  get(path: string, init?: RequestInit): Promise<Response>;
}

/** Starts a dev server on a free port; it is closed after the test. */
export async function startVite(
  context: TestContext,
  folder: string,
  { options = {}, ...config }: InlineConfig & { options?: PlatformOptions } = {},
): Promise<RunningVite> {
  process.env['PLATFORM_CLI'] = path.join(root, 'cli/run.mjs');
  const lines: string[] = [];
  const keep = (text: string): void => void lines.push(text);
  /** What is saved before the watch is ready goes unseen. */
  let watched: Promise<unknown> | null = null;
  const server = await createServer({
    root: folder,
    configFile: false,
    plugins: [
      ...platform(options),
      { name: 'test:watched', configureServer: ({ watcher }) => void (watched = once(watcher, 'ready')) },
    ],
    server: { port: 0, host: '127.0.0.1' },
    customLogger: { ...createLogger(), info: keep, warn: keep, error: keep, warnOnce: keep },
    ...config,
  });
  context.after(() => server.close());
  await server.listen();
  await watched;
  const address = server.httpServer!.address();
  const url = `http://127.0.0.1:${typeof address === 'object' ? address!.port : ''}`;
  return { server, url, lines, get: (target, init) => fetch(`${url}${target}`, init) };
}

/** Saves a file until Vite sees it: its watcher drops what follows another save within milliseconds. */
export async function save({ server }: RunningVite, folder: string, name: string, content: string): Promise<void> {
  const seen = new Promise<void>((resolve) => {
    const listen = (_event: string, file: string): void => {
      if (path.resolve(file) !== path.join(folder, name)) return;
      server.watcher.off('all', listen);
      resolve();
    };
    server.watcher.on('all', listen);
  });
  write(folder, name, content);
  const again = setInterval(() => write(folder, name, content), 50);
  await seen.finally(() => clearInterval(again));
}

/** Asks as a browser does for a page; `fetch` names another mode. */
export async function navigate(url: string, target: string): Promise<{ status: number; text: string }> {
  const headers = { accept: 'text/html', 'sec-fetch-mode': 'navigate' };
  const [answer] = (await once(get(new URL(target, url), { headers }), 'response')) as [IncomingMessage];
  return { status: answer.statusCode!, text: await text(answer) };
}
