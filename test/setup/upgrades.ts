// Versions of the program on one data folder, for test/upgrade/: started, stopped, killed, and asked for what a project
// keeps there.
import assert from 'node:assert/strict';
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdirSync, writeFileSync } from 'node:fs';
import path from 'node:path';
import { createInterface } from 'node:readline';
import { nodeFlags } from '#core/node-flags.mjs';
import { startEmbeddedPostgres } from '#postgres/embedded.ts';
import { openSql } from '#postgres/sql.ts';
import { digestOfFolder } from './backups.ts';
import { freePort } from './free-port.ts';
import { send } from './send.ts';

/** What a command came to. `code` is null where it was killed. */
export interface CommandEnd {
  readonly code: number | null;
  readonly output: string;
}

/** A data folder, and what programs do with it. */
export interface UpgradeFolder {
  /** The data folder. */
  readonly folder: string;
  /** Runs a command of a program. @param kill given, it is killed after so many ms: with all of its own, or alone. */
  platform(program: string, words: readonly string[], kill?: { afterMs: number; all: boolean }): Promise<CommandEnd>;
  /** Starts a version; resolves when it serves. @throws {Error} with its output when it ends before. */
  start(program: string): Promise<{ stop(): Promise<void> }>;
  /** The counter of the project, one more each time. */
  count(): Promise<string>;
  deployCounter(program: string): Promise<void>;
  /** Every row that all versions know, of tables that a start does not touch, and every file. */
  digest(): Promise<unknown>;
}

const COUNTER = `export default { async fetch(request, env) {
  if (new URL(request.url).pathname !== '/count') return new Response('well');
  const count = Number((await env.STATE.get('count')) ?? 0) + 1;
  await env.STATE.put('count', String(count));
  await env.DB.prepare('CREATE TABLE IF NOT EXISTS t (a)').run();
  await env.DB.prepare('INSERT INTO t VALUES (?)').bind(count).run();
  await env.FILES.put('count', String(count));
  return new Response(String(count));
} }`;

/** @param work a folder of the test's own. */
export async function openUpgradeFolder(work: string): Promise<UpgradeFolder> {
  const folder = path.join(work, 'data');
  const port = await freePort();
  const environment: NodeJS.ProcessEnv = {
    ...process.env,
    FS_PATH: folder,
    PLATFORM_HOME: path.join(work, 'home'),
    HANDLER_PORT: String(port),
    HANDLER_PRIVATE_PORT: '0',
    API_PORT: String(await freePort()),
    UI_PORT: String(await freePort()),
    DOCS_PORT: 'off',
    NO_COLOR: '1',
  };
  delete environment['NODE_TEST_CONTEXT'];
  const launch = (program: string, words: readonly string[]) =>
    spawn(process.execPath, [...nodeFlags, '--', path.join(program, 'cli/run.mjs'), ...words], {
      env: environment,
      cwd: work,
      stdio: ['ignore', 'pipe', 'pipe'],
      // A group of its own, to be killed with.
      detached: true,
    });

  const data: UpgradeFolder = {
    folder,
    async platform(program, words, kill) {
      const child = launch(program, words);
      const lines: string[] = [];
      for (const stream of [child.stdout, child.stderr]) stream.on('data', (chunk) => lines.push(String(chunk)));
      const timer =
        kill === undefined
          ? undefined
          : setTimeout(() => {
              if (child.exitCode === null) process.kill(kill.all ? -child.pid! : child.pid!, 'SIGKILL');
            }, kill.afterMs);
      const [code] = (await once(child, 'exit')) as [number | null];
      clearTimeout(timer);
      return { code, output: lines.join('') };
    },
    async start(program) {
      const child = launch(program, ['start']);
      const lines: string[] = [];
      await new Promise<void>((resolve, reject) => {
        for (const stream of [child.stdout, child.stderr])
          createInterface({ input: stream }).on('line', (line) => {
            lines.push(line);
            if (line === 'Ctrl-C stops it') resolve();
          });
        child.once('close', () => reject(new Error(lines.join('\n'))));
      });
      return {
        async stop() {
          child.kill('SIGTERM');
          if (child.exitCode === null) await once(child, 'exit');
        },
      };
    },
    count: async () => (await send(port, 'counter.localhost', '/count')).text,
    async deployCounter(program) {
      const project = path.join(work, 'counter');
      mkdirSync(path.join(project, 'src'), { recursive: true });
      writeFileSync(path.join(project, 'src/index.js'), COUNTER);
      writeFileSync(
        path.join(project, 'platform.yaml'),
        'main: src/index.js\nstate:\n  STATE: counts\ndb:\n  DB: main\nfs:\n  FILES: files\n',
      );
      const deployed = await data.platform(program, ['deploy', project, '--name', 'counter']);
      assert.equal(deployed.code, 0, deployed.output);
    },
    async digest() {
      const server = await startEmbeddedPostgres({ folder: path.join(folder, 'postgres') });
      const sql = openSql({ url: server.url, name: 'test', connectionsMax: 1 });
      try {
        const state = await sql`SELECT namespace, resource, key, value FROM binding.state ORDER BY 1, 2, 3`;
        const accounts = await sql`SELECT id FROM control.account ORDER BY 1`;
        const files = digestOfFolder(folder, ['routes', 'artifacts', 'databases', 'files']);
        return [[...state], [...accounts], files];
      } finally {
        await sql.end();
        await server.stop();
      }
    },
  };
  return data;
}
