// Node's side: a child process in which each case runs in a worker thread of its own with Node's globals.
// `openNodeSide` is the parent's end; run as a program, this file is the child.
import { fork } from 'node:child_process';
import { Worker } from 'node:worker_threads';
import type { WptCase } from './cases.ts';
import { pageSource, type PageResult } from './page.ts';

/** Runs cases with Node's own globals. */
export interface NodeSide {
  run(test: WptCase): Promise<PageResult>;
  close(): Promise<void>;
}

/** Starts the child; a case that ends it has died, and the next one gets a fresh child. */
export function openNodeSide(folder: string, origin: string): NodeSide {
  let child: ReturnType<typeof fork> | null = null;
  const waiting = new Map<string, (result: PageResult) => void>();
  const start = (): ReturnType<typeof fork> => {
    const started = fork(import.meta.filename, [], {
      execArgv: ['--no-wasm-async-compilation', '--disable-warning=ExperimentalWarning'],
      stdio: ['ignore', 'ignore', 'ignore', 'ipc'],
    });
    started.on('message', (message: { id: string; result: PageResult }) => {
      waiting.get(message.id)?.(message.result);
      waiting.delete(message.id);
    });
    started.on('exit', () => {
      if (child === started) child = null;
      for (const resolve of waiting.values()) resolve({ subtests: {}, death: 'Node exited' });
      waiting.clear();
    });
    return started;
  };
  return {
    run: (test) =>
      new Promise((resolve) => {
        child ??= start();
        waiting.set(test.id, resolve);
        child.send({ id: test.id, source: pageSource(folder, test, origin) });
      }),
    async close() {
      child?.disconnect();
    },
  };
}

// What a thread runs: errors that a page leaves behind do not end it, as they do not end a page.
const threadSource = `
const { parentPort, workerData } = require('node:worker_threads');
process.on('unhandledRejection', () => {});
process.on('uncaughtException', () => {});
for (const name of ['require', 'module', 'exports', '__filename', '__dirname']) delete globalThis[name];
(0, eval)(workerData).then((json) => parentPort.postMessage(json));
`;

function serve(): void {
  process.on('message', ({ id, source }: { id: string; source: string }) => {
    const thread = new Worker(threadSource, { eval: true, workerData: source, stdout: true, stderr: true });
    let over = false;
    const end = (result: PageResult): void => {
      if (over) return;
      over = true;
      process.send?.({ id, result });
      void thread.terminate();
    };
    thread.on('message', (json: string) => end(JSON.parse(json) as PageResult));
    thread.on('error', (error: Error) => end({ subtests: {}, death: String(error.stack) }));
    thread.on('exit', (code) => end({ subtests: {}, death: `exit ${code}` }));
    thread.stdout.resume();
    thread.stderr.resume();
  });
}

if (import.meta.main) serve();
