// A project for Vite in a folder of its own, and the dev server that the Vite plugin runs behind, in this process. The
// engine is there too, behind a child that speaks for it: a real one, as users have it, takes a second of CPU to start.
import { once } from 'node:events';
import { get, type IncomingMessage } from 'node:http';
import { createServer as createSocketServer, type Socket } from 'node:net';
import { mkdirSync, mkdtempSync, realpathSync, rmSync, symlinkSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { text } from 'node:stream/consumers';
import type { TestContext } from 'node:test';
import { createLogger, createServer, type InlineConfig, type ViteDevServer } from 'vite';
import { serveVite } from '#cli/commands/vite/engine.ts';
import { platform, type PlatformOptions } from '#packages/vite/index.ts';
import { recordingShell } from '../unit/cli/recording-shell.ts';

const root = path.resolve(import.meta.dirname, '../..');

/** Of a test, or of a file. */
type Ending = Pick<TestContext, 'after'>;

/** Writes files into a new folder where `vite` and the plugin are found. */
export function viteProject(context: Ending, files: Readonly<Record<string, string>>): string {
  const folder = realpathSync(mkdtempSync(path.join(tmpdir(), 'vite-project-')));
  context.after(() => rmSync(folder, { recursive: true, force: true }));
  mkdirSync(path.join(folder, 'node_modules/@platform-run'), { recursive: true });
  symlinkSync(path.join(root, 'node_modules/vite'), path.join(folder, 'node_modules/vite'));
  symlinkSync(path.join(root, 'packages/vite'), path.join(folder, 'node_modules/@platform-run/vite'));
  for (const [name, content] of Object.entries({ 'package.json': '{"type":"module"}', ...files }))
    write(folder, name, content);
  return folder;
}

/** The plugin and nothing else. */
export const VITE_CONFIG =
  'import { platform } from "@platform-run/vite"; export default { plugins: [...platform()] };';

/** A project that `platform build` builds with the checkout's Vite. */
export function builtViteProject(context: Ending, files: Readonly<Record<string, string>>): string {
  const folder = viteProject(context, {
    'package.json': '{"type":"module","devDependencies":{"@platform-run/vite":"0.0.0","vite":"8.0.0"}}',
    'vite.config.js': VITE_CONFIG,
    ...files,
  });
  mkdirSync(path.join(folder, 'node_modules/.bin'));
  // By the Node of this test: the plugin is here as TypeScript.
  const program = `#!/bin/sh\nexec ${process.execPath} ${path.join(folder, 'node_modules/vite/bin/vite.js')} "$@"\n`;
  writeFileSync(path.join(folder, 'node_modules/.bin/vite'), program, { mode: 0o755 });
  return folder;
}

export function write(folder: string, name: string, content: string): void {
  mkdirSync(path.dirname(path.join(folder, name)), { recursive: true });
  writeFileSync(path.join(folder, name), content);
}

/** A dev server that listens. */
export interface RunningVite {
  readonly server: ViteDevServer;
  readonly url: string;
  /** What was written to the log, from the beginning. */
  readonly lines: readonly string[];
  get(path: string, init?: RequestInit): Promise<Response>;
}

/** Has engines run in this process. @returns what ends that, once their servers have closed. */
async function hostEngines(): Promise<() => Promise<void>> {
  const serving = new Set<Promise<void>>();
  const server = createSocketServer((socket: Socket) => {
    const write = (stream: 1 | 2, line: string): void =>
      void socket.write(`${stream}${line.replaceAll('\n', `\n${stream}`)}\n`);
    const said = (line: string): void => write(2, line);
    const shell = { ...recordingShell('/', process.env as Record<string, string>), out: said, err: said };
    const served = serveVite(shell, socket, (message) => write(1, JSON.stringify(message)))
      .catch((error: unknown) => said(String(error)))
      .finally(() => socket.end());
    serving.add(served);
  });
  const folder = mkdtempSync(path.join(tmpdir(), 'vite-engine-'));
  server.listen(path.join(folder, 'socket'));
  await once(server, 'listening');
  process.env['ENGINE_SOCKET'] = path.join(folder, 'socket');
  return async () => {
    server.close();
    await Promise.all(serving);
    rmSync(folder, { recursive: true });
  };
}

/** Starts a dev server on a free port; it is closed after the test. @param isWhole the engine is a child of its own. */
export async function startVite(
  context: Ending,
  folder: string,
  { options = {}, isWhole = false, ...config }: InlineConfig & { options?: PlatformOptions; isWhole?: boolean } = {},
): Promise<RunningVite> {
  process.env['PLATFORM_CLI'] = path.join(root, isWhole ? 'cli/run.mjs' : 'test/fixtures/vite-engine.mjs');
  const closing = isWhole ? null : await hostEngines();
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
  context.after(async () => {
    await server.close();
    await closing?.();
  });
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
