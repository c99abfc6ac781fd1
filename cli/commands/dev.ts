// `platform dev` (docs/cli.md): serves the project in this folder with the engine of production, rebuilds on every
// save, prints a line per request and a code frame per error.
import path from 'node:path';
import { defineCommand } from 'citty';
import type { DevEngine, DevOptions } from '#runtime/dev/contract/dev-engine.ts';
import { wholeNumber } from '../terminal/arguments.ts';
import { removedSettings } from '#core/removed-variables.ts';
import { defaultLimits } from '#core/limits.ts';
import { openAi, organizationAi } from '../dev/ai.ts';
import { printLog, requestLine } from '../dev/lines.ts';
import { readVariables } from '../project/variables.ts';
import { chooseProjects, choiceFlags } from '../project/choose-projects.ts';
import { freePort } from '../dev/server/listening.ts';
import { planServer, type ServerPlan } from '../dev/server/plan.ts';
import { startServerSession } from '../dev/server/session.ts';
import { serverOutput } from '../dev/server/output.ts';
import { loaderOfOthers } from '../project/other-projects.ts';
import { startSession, type SessionEvents } from '../dev/session.ts';
import { isViteProject, runVite } from '../vite/run-vite.ts';
import { CliError, printFailure } from '../terminal/failure.ts';
import { coloured, ownLines } from '../terminal/printed.ts';
import { projectNameFrom } from '#packages/create/project.ts';
import { agentPackage, lacksAgentFlag, loadProject, type Project } from '../project/project.ts';
import { workspaceFolder } from '../project/repository.ts';
import { updateTypes } from '../project/types-file.ts';
import type { Shell } from '../terminal/shell.ts';

/** Opens an engine: the engine of runtime/dev/dev.ts, or a recording engine in tests. */
export type StartDev = (options: DevOptions) => Promise<DevEngine>;

/** Flags of `platform dev`; null or undefined if not given. */
export interface DevFlags {
  readonly port?: string | undefined;
  readonly host?: string | undefined;
  readonly config?: string | undefined;
  readonly project?: string | undefined;
  readonly watch?: boolean | undefined;
  readonly verbose?: boolean | undefined;
  readonly 'dashboard-port'?: string | undefined;
}

export const command = defineCommand({
  meta: { name: 'dev', description: 'Serve this project locally, with hot reload' },
  args: {
    port: {
      type: 'string',
      alias: 'p',
      valueHint: 'n',
      description: 'Port (default: dev.port of platform.yaml, else 3000)',
    },
    host: {
      type: 'string',
      alias: 'h',
      valueHint: 'name',
      description: 'Host to listen on (default: dev.host of platform.yaml, else localhost)',
    },
    config: {
      type: 'string',
      alias: 'c',
      valueHint: 'path',
      description: 'Configuration file (default: platform.yaml)',
    },
    project: choiceFlags.project,
    watch: {
      type: 'boolean',
      default: true,
      description: 'Rebuild when files change',
      negativeDescription: 'Build once',
    },
    verbose: {
      type: 'boolean',
      alias: 'v',
      description: 'Print causes of rebuilds and debug lines of the worker',
    },
    'dashboard-port': {
      type: 'string',
      valueHint: 'n',
      description: 'Port of the dashboard (default: port + 1000; 0: a free one)',
    },
  },
  async run({ args, data }) {
    const runtime = await import('#runtime/dev/dev.ts');
    return runDev(data as Shell, args, runtime.startDev);
  },
});

// Spec 2.2. The session reports an invalid configuration later, with its position.
function warnOfAgentFlag(shell: Shell, load: () => Project): void {
  try {
    if (lacksAgentFlag(load()))
      shell.err(
        shell.paint(
          'yellow',
          `${agentPackage} is a dependency, but platform.yaml has no \`agentSDK: true\`: run \`platform types\``,
        ),
      );
  } catch {
    // The session reports an invalid configuration.
  }
}

/** Serves until the shell is stopped. */
export async function runDev(shell: Shell, flags: DevFlags, open: StartDev): Promise<number> {
  const began = performance.now();
  const watching = flags.watch !== false;
  const verbose = flags.verbose === true;
  const portFlag = flags.port === undefined ? null : wholeNumber('platform dev', '--port', flags.port, 0, 65_535);
  const given = flags['dashboard-port'];
  const dashboardFlag = given === undefined ? null : wholeNumber('platform dev', '--dashboard-port', given, 0, 65_535);
  const [chosen] = chooseProjects(
    'platform dev',
    { folder: shell.cwd, config: flags.config, project: flags.project },
    false,
  );
  const folder = flags.config === undefined ? chosen! : path.dirname(path.resolve(shell.cwd, flags.config));
  for (const line of removedSettings(shell.env)) shell.err(shell.paint('yellow', line));
  let warned = '';
  const load = (): Project => {
    const warnings: string[] = [];
    const project = loadProject({ ...shell, err: (line) => void warnings.push(line) }, folder, flags.config ?? null);
    // Print unchanged warnings once: the file is read on every rebuild.
    if (warnings.join('\n') !== warned) for (const warning of warnings) shell.err(warning);
    warned = warnings.join('\n');
    if (watching && updateTypes(shell, project)) shell.out(`${shell.paint('green', 'Wrote')} env.d.ts`);
    return project;
  };
  const first = once(load);
  warnOfAgentFlag(shell, first);
  const root = rootOf(first) ?? folder;
  if (isViteProject(root)) {
    if (!watching) shell.err(shell.paint('yellow', '--no-watch has no effect: Vite watches the files of this project'));
    return runVite(shell, {
      command: 'dev',
      folder: root,
      configFile: flags.config === undefined ? null : path.resolve(shell.cwd, flags.config),
      words: [
        ...(portFlag === null ? [] : ['--port', String(portFlag), '--strictPort']),
        ...(flags.host === undefined ? [] : ['--host', flags.host]),
      ],
      dashboardPort: dashboardFlag,
    });
  }
  const stopped = shell.untilStopped();
  const environment = { ...readVariables(folder), ...shell.env };
  const ai = openAi({
    environment,
    organization: await organizationAi(first, shell, folder, environment),
    project: projectNameFrom(folder),
    limits: defaultLimits,
    log: (level, message) => printLog(shell, { level, message }, verbose),
  });
  const { port: wanted, host } = addressFrom(first, { port: portFlag, host: flags.host ?? null }, watching);
  const plan = serverPlan(first);
  // The framework's dev server must be told its port when it starts.
  const port = plan !== null && wanted === 0 ? await freePort(host) : wanted;
  const engine = await openEngine(open, {
    ...(plan === null ? { host, port } : { host: '127.0.0.1', port: 0, front: () => ({ host, port }) }),
    dashboardPort: dashboardFlag ?? dashboardPortOf(wanted),
    stateFolder: path.join(workspaceFolder(folder), '.platform', 'dev'),
    // Separates the timers and schedules of this project from those of other projects of the workspace.
    project: projectNameFrom(folder),
    ai,
    log: (record) => printLog(shell, record, verbose),
    onRequest: (record) => shell.out(requestLine(shell, record)),
  });
  try {
    const url = `http://${host.includes(':') ? `[${host}]` : host}:${plan === null ? engine.port : port}`;
    const announced = {
      url,
      dashboardUrl: engine.dashboardUrl ?? null,
      ai: () => (load().config.ai ? ai.said : null),
      began,
      verbose,
    };
    const deps = { engine, folder, load, loadOther: loaderOfOthers(shell), watching };
    const session =
      plan === null
        ? await startSession({ ...deps, stopped, events: sessionEvents(shell, announced) })
        : await startServerSession({
            ...deps,
            plan,
            address: { host, port },
            environment: shell.env,
            events: serverOutput(shell, plan.name, {
              url,
              dashboardUrl: announced.dashboardUrl,
              ai: announced.ai,
              began,
            }),
          });
    await stopped;
    await session.close();
  } finally {
    await engine.close();
    await ai.close();
  }
  return 0;
}

/** Returns a function that loads the project once, and then returns the same project or throws the same error. */
function once(load: () => Project): () => Project {
  let found: { readonly project: Project } | { readonly error: unknown } | null = null;
  return () => {
    try {
      found ??= { project: load() };
    } catch (error) {
      found = { error };
    }
    if ('error' in found) throw found.error;
    return found.project;
  };
}

/** The source folder; null if the configuration is invalid, which is reported later. */
function rootOf(load: () => Project): string | null {
  try {
    return load().root;
  } catch {
    return null;
  }
}

/** The dev server of the project; null if there is none, or if the configuration is invalid. */
function serverPlan(load: () => Project): ServerPlan | null {
  let project: Project;
  try {
    project = load();
  } catch {
    return null;
  }
  return planServer(project);
}

/**
 * Reads host and port from the flags, then from `dev` in platform.yaml, then from the defaults. The session reports an
 * invalid file and waits for a fix.
 */
function addressFrom(
  load: () => Project,
  flags: { port: number | null; host: string | null },
  watching: boolean,
): { port: number; host: string } {
  let dev = { port: 3000, host: 'localhost' };
  try {
    dev = load().config.dev;
  } catch (error) {
    if (!watching || (error instanceof CliError && error.exitCode === 2)) throw error;
  }
  return { port: flags.port ?? dev.port, host: flags.host ?? dev.host };
}

async function openEngine(open: StartDev, options: DevOptions): Promise<DevEngine> {
  try {
    return await open(options);
  } catch (error) {
    const { host, port } = options;
    const { code } = error as NodeJS.ErrnoException;
    if (code === 'EADDRINUSE') {
      throw new CliError(`Port ${port} of ${host} is already in use`, {
        advice: `Stop that program, or choose another port: --port ${port < 65_535 ? port + 1 : 3000}`,
      });
    }
    if (code === 'EACCES')
      throw new CliError(`No permission to open port ${port}`, {
        advice: 'Choose a port above 1023: --port 3000',
      });
    if (code === 'ENOTFOUND' || code === 'EADDRNOTAVAIL')
      throw new CliError(`${host} is not an address of this machine`, { advice: 'Choose another: --host localhost' });
    throw error;
  }
}

/** The dashboard's port: port + 1000, or a free port if that is out of range or if any port may be used. */
function dashboardPortOf(port: number): number {
  return port === 0 || port + 1000 > 65_535 ? 0 : port + 1000;
}

interface Announced {
  readonly url: string;
  readonly dashboardUrl: string | null;
  /** Text that names the provider of the models; null if AI is not used. */
  readonly ai: () => string | null;
  readonly began: number;
  readonly verbose: boolean;
}

function sessionEvents(shell: Shell, { url, dashboardUrl, ai, began, verbose }: Announced): SessionEvents {
  let toldOfAi = false;
  return {
    served({ first, cause, buildMs }) {
      const readyMs = first ? performance.now() - began : buildMs;
      const time = readyMs === null ? '' : ` in ${Math.round(readyMs)} ms`;
      const why = verbose && cause !== null ? ` (${cause})` : '';
      shell.out(
        first
          ? `${shell.paint('green', 'Ready')} ${shell.paint('cyan', url)}${shell.paint('dim', time)}`
          : `${shell.paint('green', 'Reloaded')}${shell.paint('dim', time + why)}`,
      );
      if (first && dashboardUrl !== null)
        shell.out(`${shell.paint('dim', 'Dashboard')} ${shell.paint('cyan', dashboardUrl)}`);
      const said = toldOfAi ? null : ai();
      if (said !== null) shell.out(`${shell.paint('dim', 'AI')} ${said}`);
      toldOfAi ||= said !== null;
    },
    built(text) {
      // The output of a failed build is part of its error.
      if (verbose) shell.err(ownLines(shell.paint('dim', coloured(text.trimEnd(), shell.isTerminal))));
    },
    warned: (message) => shell.err(shell.paint('yellow', message)),
    failed(error, { failures, serving }) {
      for (const failure of failures) printFailure(shell, failure);
      shell.err(
        shell.paint(
          'yellow',
          serving ? 'Still serving the last successful build' : `${url} shows this error until it is fixed`,
        ),
      );
      if (shell.env['PLATFORM_DEBUG'] === '1' && error instanceof Error) shell.err(ownLines(error.stack ?? ''));
    },
  };
}
