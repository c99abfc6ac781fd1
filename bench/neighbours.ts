// A victim and an attacker on one platform: ours (supervisor and engines, as `npm start` runs them), or workerd, which
// is restarted at once when it dies, as an operator's supervisor would. Used by noisy-neighbour.bench.ts.
import { spawn, type ChildProcess } from 'node:child_process';
import { readFileSync, writeFileSync } from 'node:fs';
import path from 'node:path';
import { setTimeout as delay } from 'node:timers/promises';
import type { EventKind } from '../core/event.ts';
import { deliver } from '../test/setup/events.ts';
import { freePort } from '../test/setup/free-port.ts';
import { startPlatform } from '../test/setup/platform.ts';
import { temporaryFolder } from './cleanup.ts';
import { notInstalled, status, workerdBinary } from './servers.ts';

/** Both tenants on one machine. */
export interface Neighbours {
  readonly victim: string;
  readonly attacker: string;
  /** Gives the attacker an event; resolves with what became of it. Null where there are none. */
  readonly deliver: ((kind: EventKind) => Promise<string>) | null;
  /** How often a process died so far. */
  deaths(): number;
  stop(): Promise<void>;
}

const workers = path.join(import.meta.dirname, 'workers');
const sources = {
  victim: readFileSync(path.join(workers, 'hello.js'), 'utf8'),
  attacker: readFileSync(path.join(workers, 'attacker.js'), 'utf8'),
};

/** @param hostWork the attacker is the one that lets the host work. */
export async function startOurs(hostWork = false): Promise<Neighbours> {
  const platform = await startPlatform(hostWork ? { victim: sources.victim } : sources);
  if (hostWork)
    await platform.deploy('attacker', readFileSync(path.join(workers, 'host-work.js'), 'utf8'), hostWorkYaml);
  const url = `http://127.0.0.1:${platform.port}`;
  for (const name of Object.keys(sources)) await answers(`${url}/ready`, `${name}.localhost`);
  let deaths = 0;
  let engine = platform.enginePid;
  const watch = setInterval(() => {
    if (platform.enginePid !== engine) deaths++;
    engine = platform.enginePid;
  }, 20);
  return {
    victim: url,
    attacker: url,
    deliver: (kind) => deliver(platform, 'attacker', kind, 'now'),
    deaths: () => deaths,
    async stop() {
      clearInterval(watch);
      await platform.close();
    },
  };
}

const hostWorkYaml = 'db: { DB: rows }\nauth: { binding: USERS }\n';

export async function startWorkerd(): Promise<Neighbours | string> {
  const binary = workerdBinary();
  if (binary === null) return notInstalled;
  const folder = temporaryFolder('platform-bench-workerd-');
  const ports = { victim: await freePort(), attacker: await freePort() };
  for (const [name, code] of Object.entries(sources)) writeFileSync(path.join(folder, `${name}.js`), code);
  const service = (name: keyof typeof ports): string =>
    `(name = "${name}", worker = (modules = [(name = "worker", esModule = embed "${name}.js")], compatibilityDate = "2025-04-02"))`;
  const socket = (name: keyof typeof ports): string =>
    `(name = "${name}", address = "127.0.0.1:${ports[name]}", http = (), service = "${name}")`;
  const lists = `services = [${service('victim')}, ${service('attacker')}],\n  sockets = [${socket('victim')}, ${socket('attacker')}],`;
  const file = path.join(folder, 'config.capnp');
  writeFileSync(
    file,
    `using Workerd = import "/workerd/workerd.capnp";\nconst config :Workerd.Config = (\n  ${lists}\n);\n`,
  );
  let child: ChildProcess;
  let deaths = 0;
  let stopping = false;
  const start = (): void => {
    child = spawn(binary, ['serve', file], { stdio: 'ignore' });
    child.on('exit', () => {
      if (stopping) return;
      deaths++;
      start();
    });
  };
  start();
  const urls = { victim: `http://127.0.0.1:${ports.victim}`, attacker: `http://127.0.0.1:${ports.attacker}` };
  for (const name of ['victim', 'attacker'] as const) await answers(`${urls[name]}/`, `${name}.localhost`);
  return {
    ...urls,
    deliver: null,
    deaths: () => deaths,
    async stop() {
      stopping = true;
      // A spin does not hear anything milder.
      child.kill('SIGKILL');
    },
  };
}

async function answers(url: string, host: string): Promise<void> {
  while ((await status(url, host)) !== 200) await delay(20);
}
