// Workers in a Node process of their own, whose bindings come by `@platform-run/dev` from the mock server of each: for
// suites of bindings, with TEST_BINDINGS=node. handler.ts starts it.
import { fork } from 'node:child_process';
import { once } from 'node:events';
import { join } from 'node:path';
import type { LogLine } from '#runtime/engine/invocation/log.ts';

/** A worker's code, and where its bindings are. */
export interface NodeWorker {
  readonly project: string;
  readonly file: string;
  readonly url: string;
  readonly token: string;
}

/** What the process says. */
export type SaidByWorkers =
  | { readonly ports: Readonly<Record<string, number>> }
  | { readonly serves: string }
  | { readonly project: string; readonly level: LogLine['level']; readonly text: string };

interface NodeWorkers {
  port(project: string): number;
  /** Resolves when its requests are answered. */
  serve(worker: NodeWorker): Promise<void>;
  close(): Promise<void>;
}

/** Listens for each project; a worker has to be served before it is asked. */
export async function startNodeWorkers(
  projects: readonly string[],
  onLog: (project: string, line: Pick<LogLine, 'level' | 'text'>) => void,
): Promise<NodeWorkers> {
  const child = fork(join(import.meta.dirname, 'node-workers-child.ts'), projects, {
    env: Object.fromEntries(Object.entries(process.env).filter(([name]) => name !== 'NODE_TEST_CONTEXT')),
  });
  const waiting: ((said: SaidByWorkers) => void)[] = [];
  child.on('message', (said: SaidByWorkers) => ('text' in said ? onLog(said.project, said) : waiting.shift()?.(said)));
  const exited = once(child, 'exit');
  const ended = exited.then(([code]) => Promise.reject(new Error(`The workers in Node ended with ${code}`)));
  ended.catch(() => {});
  const answer = (): Promise<SaidByWorkers> =>
    Promise.race([new Promise<SaidByWorkers>((resolve) => waiting.push(resolve)), ended]);
  const { ports } = (await answer()) as Extract<SaidByWorkers, { ports: object }>;
  return {
    port: (project) => ports[project]!,
    async serve(worker) {
      child.send(worker);
      await answer();
    },
    async close() {
      child.disconnect();
      await exited;
    },
  };
}
