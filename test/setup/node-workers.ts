// Workers in a Node process of their own, whose bindings come by `@platform-run/dev` from the mock server of each: for
// suites of bindings, with TEST_BINDINGS=node. handler.ts starts it.
import { fork } from 'node:child_process';
import { once } from 'node:events';
import { writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import type { LogLine } from '#runtime/engine/invocation/log.ts';

/** A worker's code, and where its bindings are. */
export interface NodeWorker {
  readonly project: string;
  readonly code: string;
  readonly url: string;
  readonly token: string;
}

/** What the process says. */
export type SaidByWorkers =
  | { readonly port: number }
  | { readonly project: string; readonly level: LogLine['level']; readonly text: string };

interface NodeWorkers {
  readonly port: number;
  close(): Promise<void>;
}

/** Serves `<project>.localhost` from Node. @param folder for the code. */
export async function startNodeWorkers(
  folder: string,
  workers: readonly NodeWorker[],
  onLog: (project: string, line: Pick<LogLine, 'level' | 'text'>) => void,
): Promise<NodeWorkers> {
  const started: object[] = [];
  for (const { project, code, url, token } of workers) {
    const file = join(folder, `${project}.mjs`);
    await writeFile(file, code);
    started.push({ project, file, url, token });
  }
  const child = fork(join(import.meta.dirname, 'node-workers-child.ts'), [JSON.stringify(started)], {
    env: Object.fromEntries(Object.entries(process.env).filter(([name]) => name !== 'NODE_TEST_CONTEXT')),
  });
  const port = await new Promise<number>((resolve, reject) => {
    child.once('exit', (code) => reject(new Error(`The workers in Node ended with ${code}`)));
    child.on('message', (said: SaidByWorkers) =>
      'port' in said ? resolve(said.port) : onLog(said.project, { level: said.level, text: said.text }),
    );
  });
  return {
    port,
    async close() {
      const exited = once(child, 'exit');
      child.disconnect();
      await exited;
    },
  };
}
