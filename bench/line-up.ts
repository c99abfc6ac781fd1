// The servers that a scenario compares: our engine over both listeners, workerd, bare node:http and uWebSockets.js,
// Deno and Bun. A server that this machine cannot run is omitted, with the reason in one line.
import { rmSync } from 'node:fs';
import {
  newGlibc,
  publishWorkers,
  startEngine,
  startPackaged,
  startPeer,
  startWorkerd,
  uwsMissing,
} from './servers.ts';
import type { Scenario, Server } from './servers.ts';

/** Servers that run, in the order of the table. */
interface LineUp {
  readonly servers: Server[];
  /** What is not there and why. */
  readonly left: string[];
  stop(): Promise<void>;
}

const node = process.execPath;

/**
 * Starts them one after the other: the second engine finds the snapshot that the first one made.
 *
 * @param target path and query of the request that shows that a server is up.
 * @param check rejects with the reason why a server cannot take part after all.
 */
export async function startAll(
  scenario: Scenario,
  target: string,
  check?: (server: Server) => Promise<void>,
): Promise<LineUp> {
  const folder = await publishWorkers(scenario, [scenario]);
  const starts: Record<string, (name: string) => Promise<Server> | string> = {
    'ours, node:http': (name) => startEngine(name, folder, 'node', scenario, target),
    'ours, uWebSockets.js': (name) => uwsMissing() ?? startEngine(name, folder, 'uws', scenario, target),
    workerd: () => startWorkerd(scenario, target),
    'bare node:http': (name) => startPeer(name, node, ['node-http.mjs'], scenario, target),
    'bare uWebSockets.js': (name) => uwsMissing() ?? startPeer(name, newGlibc, [node, 'uws.mjs'], scenario, target),
    Deno: (name) =>
      startPackaged(
        name,
        ['@deno/linux-x64-glibc/deno', '@deno/linux-arm64-glibc/deno'],
        ['run', '--allow-net', '--allow-read', 'deno.mjs'],
        scenario,
        target,
      ),
    Bun: (name) =>
      startPackaged(
        name,
        ['@oven/bun-linux-x64/bin/bun', '@oven/bun-linux-aarch64/bin/bun'],
        ['bun.mjs'],
        scenario,
        target,
      ),
  };
  const servers: Server[] = [];
  const left: string[] = [];
  for (const [name, start] of Object.entries(starts)) {
    let started: Server | string = '';
    try {
      started = await start(name);
      if (typeof started !== 'string') await check?.(started);
    } catch (error) {
      if (typeof started !== 'string') await started.stop();
      started = (error as Error).message;
    }
    if (typeof started === 'string') left.push(`${name} is left out: ${started}`);
    else servers.push(started);
  }
  return {
    servers,
    left,
    async stop() {
      await Promise.all(servers.map((server) => server.stop()));
      rmSync(folder, { recursive: true, force: true });
    },
  };
}
