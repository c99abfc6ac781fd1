// `platform vite engine`: the engine of the Vite plugin, which starts it and exchanges JSON lines
// (packages/vite/messages.ts). Exits when standard input ends. No other output may be printed on standard output.
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { createInterface } from 'node:readline';
import path from 'node:path';
import type { Readable } from 'node:stream';
import { defineCommand } from 'citty';
import { defaultLimits } from '#core/limits.ts';
import type { FromEngine, ToEngine } from '#packages/vite/messages.ts';
import { projectNameFrom } from '#packages/create/project.ts';
import type { OpenDevEngine } from '#runtime/dev/contract/dev-engine.ts';
import { startDev } from '#runtime/dev/dev.ts';
import { openAi, organizationAi } from '../../dev/ai.ts';
import { openServices } from '../../dev/services.ts';
import { loaderOfOthers } from '../../project/other-projects.ts';
import { printLog, requestLine } from '../../dev/lines.ts';
import { loadProject, type Project } from '../../project/project.ts';
import { readVariables } from '../../project/variables.ts';
import { workspaceFolder } from '../../project/repository.ts';
import { failuresOf } from '../../terminal/failure.ts';
import type { Shell } from '../../terminal/shell.ts';
import { createViteSession, type ViteSession } from '../../vite/session.ts';

type Start = Extract<ToEngine, { type: 'start' }>;

export const command = defineCommand({
  meta: { name: 'engine', description: 'The engine behind the Vite plugin, which starts it' },
  args: {},
  async run({ data }) {
    const shell = data as Shell;
    await serveVite({ ...shell, out: shell.err }, process.stdin, (message) => shell.out(JSON.stringify(message)));
    return 0;
  },
});

/** Serves until its input ends. @param input messages of the plugin. */
export async function serveVite(shell: Shell, input: Readable, send: (message: FromEngine) => void): Promise<void> {
  const stopped = shell.untilStopped();
  const lines = createInterface({ input, crlfDelay: Infinity });
  void stopped.then(() => lines.close());
  let opened: OpenedEngine | null = null;
  const settle = (number: number, work: Promise<void>): void => {
    work.then(
      () => send({ type: 'deployed', number }),
      (error: unknown) => send({ type: 'failed', number, failures: failuresOf(error) }),
    );
  };
  try {
    for await (const line of lines) {
      const message = JSON.parse(line) as ToEngine;
      if (message.type === 'start') {
        opened = await openEngine(shell, message);
        send({ type: 'ready', port: opened.engine.port, dashboardUrl: opened.engine.dashboardUrl ?? null });
      } else if (opened === null) throw new Error(`The plugin said ${message.type} before start`);
      else if (message.type === 'address') opened.address = { host: message.host, port: message.port };
      else if (message.type === 'worker') settle(message.number, opened.session.take(message));
      else settle(message.number, opened.session.reload());
    }
  } finally {
    await opened?.engine.close();
    await opened?.closeServices();
    await opened?.closeAi();
  }
}

interface OpenedEngine {
  readonly engine: OpenDevEngine;
  readonly session: ViteSession;
  address: { readonly host: string; readonly port: number };
  closeServices(): Promise<void>;
  closeAi(): Promise<void>;
}

async function openEngine(shell: Shell, start: Start): Promise<OpenedEngine> {
  const { folder, config, verbose } = start;
  const load = (): Project => loadProject({ ...shell, cwd: folder }, folder, config);
  const environment = { ...readVariables(folder, (text) => shell.err(shell.paint('yellow', text))), ...shell.env };
  const log: Parameters<typeof startDev>[0]['log'] = (record) => printLog(shell, record, verbose);
  const ai = openAi({
    environment,
    organization: await organizationAi(load, shell, folder, environment),
    project: projectNameFrom(folder),
    limits: defaultLimits,
    log: (level, message) => log({ level, message }),
  });
  const opened: { address: OpenedEngine['address']; session: ViteSession | null } = {
    address: { host: start.host, port: start.port },
    session: null,
  };
  const engine = await startDev({
    // Only Vite connects.
    host: '127.0.0.1',
    port: 0,
    front: () => opened.address,
    files: () => opened.session?.files ?? null,
    dashboardPort: start.dashboardPort,
    stateFolder: path.join(workspaceFolder(folder), '.platform', 'dev'),
    project: projectNameFrom(folder),
    ai,
    log,
    onRequest: (record) => shell.err(requestLine(shell, record)),
  });
  const temporary = await mkdtemp(path.join(tmpdir(), 'platform-dev-'));
  const services = openServices({
    load: loaderOfOthers(shell),
    artifacts: path.join(temporary, 'artifacts'),
    warn: (text) => shell.err(shell.paint('yellow', text)),
    changed: () => {
      session.callsChanged().catch((error: unknown) => {
        const failures = failuresOf(error);
        engine.fail(failures);
        for (const { message } of failures) shell.err(shell.paint('red', message));
      });
    },
  });
  const session = createViteSession(engine, load, services);
  return Object.assign(opened, {
    engine,
    session,
    async closeServices() {
      services.close();
      await rm(temporary, { recursive: true, force: true });
    },
    closeAi: () => ai.close(),
  });
}
