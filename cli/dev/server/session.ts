// `platform dev` for a project with a framework's dev server: runs that server, and an engine with the bindings of
// platform.yaml. The dev server watches the sources; this file watches platform.yaml, variables and migrations. Called
// by commands/dev.ts.
import { realpathSync } from 'node:fs';
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { writeArtifact } from '#builder/build/artifact.ts';
import { toManifest } from '#builder/build/build.ts';
import { writeAiProvider } from '#builder/ssr/ai-provider.ts';
import type { DevEngine } from '#runtime/dev/contract/dev-engine.ts';
import { failuresOf, type Failure } from '../../terminal/failure.ts';
import type { Project } from '../../project/project.ts';
import { readVariableFile, variableFiles } from '../../project/variables.ts';
import { ofWorker, devEnvironment } from '../environment.ts';
import { watchFolder, type Watcher } from '../watcher.ts';
import { startDevServer, type DevServer, type DevServerEvents } from './dev-server.ts';
import type { ServerPlan } from './plan.ts';

/** Events of a session, in addition to those of the dev server. */
export interface ServerSessionEvents extends DevServerEvents {
  /** A changed platform.yaml, migration or variable is invalid, and the previous state is used. Reported once. */
  failed(failures: readonly Failure[]): void;
  /** The dev server restarts, because this file changed its variables. */
  restarting(cause: string): void;
  warned(message: string): void;
}

interface ServerSessionDeps {
  readonly engine: DevEngine;
  readonly plan: ServerPlan;
  readonly address: { readonly host: string; readonly port: number };
  /** Folder of platform.yaml, absolute. */
  readonly folder: string;
  readonly load: () => Project;
  /** Environment of the process. */
  readonly environment: Readonly<Record<string, string | undefined>>;
  readonly watching: boolean;
  readonly events: ServerSessionEvents;
}

/** The file of variables that no framework reads itself. */
const OWN_VARIABLES = '.dev.vars';

/** Resolves when the dev server was started; it may not listen yet. */
export async function startServerSession(deps: ServerSessionDeps): Promise<{ close(): Promise<void> }> {
  const { engine, plan, address, folder, load, watching, events } = deps;
  const temporary = await mkdtemp(path.join(tmpdir(), 'platform-dev-'));
  const watchers: Watcher[] = [];
  let server: DevServer | null = null;
  let environment: Readonly<Record<string, string | undefined>> = {};
  let told = '';
  let root = folder;
  let configFile: string | null = null;
  let closed = false;

  /** Deploys the bindings, migrations and variables; returns true if the variables of the dev server have changed. */
  const deploy = async (project: Project): Promise<boolean> => {
    ({ root, configFile } = project);
    const manifest = toManifest('ssr', project.config, null, null);
    const { folder: artifactFolder } = await writeArtifact(
      path.join(temporary, 'artifacts'),
      { manifest, worker: null, assets: new Map() },
      false,
    );
    writeAiProvider(realpathSync(root), project.config);
    const deployed = await devEnvironment(project, events.warned);
    await engine.deploy({ artifactFolder, ...deployed });
    const next = {
      ...(plan.readsVariables
        ? ofWorker(readVariableFile(path.join(project.folder, OWN_VARIABLES)) ?? {})
        : deployed.vars),
      ...deps.environment,
      PATH: pathOf(project, deps.environment['PATH']),
      ...engine.variables,
    };
    const isOther = JSON.stringify(next) !== JSON.stringify(environment);
    environment = next;
    return isOther;
  };

  /** Whether the platform reads this changed path, relative to the folder. */
  const isOurs = (file: string): boolean =>
    /^platform\.ya?ml$/.test(file) ||
    (variableFiles as readonly string[]).includes(file) ||
    path.resolve(folder, file) === configFile ||
    isMigration(path.relative(root, path.resolve(folder, file)));
  /** Serializes changes. */
  let queue: Promise<void> = Promise.resolve();
  const onChange = (paths: readonly string[]): void => {
    queue = queue.then(async () => {
      if (closed) return;
      try {
        const cause = paths.find(isOurs);
        const isOther = cause !== undefined && (await deploy(load()));
        if (cause !== undefined) told = '';
        const source = plan.restartsOnSave ? paths.find(isSource) : undefined;
        const why = isOther ? cause : source;
        if (why === undefined) return server?.retry();
        events.restarting(why);
        server?.restart();
      } catch (error) {
        const failures = failuresOf(error);
        if (JSON.stringify(failures) !== told) events.failed(failures);
        told = JSON.stringify(failures);
      }
    });
  };
  const follow = (watched: string): void => {
    const named = (file: string): string => path.relative(folder, path.join(watched, file));
    const only = (file: string): boolean => plan.restartsOnSave || !file.includes(path.sep) || isMigration(file);
    const watcher = watchFolder(watched, [], (paths) => onChange(paths.map(named)), {
      only,
      onLimit: ({ message, advice }) => events.warned(`${message}. ${advice}`),
    });
    watchers.push(watcher);
  };

  const close = async (): Promise<void> => {
    closed = true;
    for (const watcher of watchers) watcher.close();
    await server?.close();
    await queue;
    await rm(temporary, { recursive: true, force: true });
  };
  try {
    const project = load();
    await deploy(project);
    server = await startDevServer({
      command: plan.command(address),
      folder: project.root,
      ...address,
      environment: () => environment,
      events,
    });
    for (const watched of watching ? new Set([folder, project.root]) : []) follow(watched);
  } catch (error) {
    await close();
    throw error;
  }
  return { close };
}

/** Whether a file is code or JSON, which servers read only at start. Generated files are rarely of these kinds. */
function isSource(file: string): boolean {
  return /\.(?:[cm]?[jt]sx?|json)$/.test(file);
}

/** Whether a path, relative to the sources, is in the migrations folder. */
function isMigration(file: string): boolean {
  return file === 'migrations' || file.startsWith(`migrations${path.sep}`);
}

/** PATH with the project's own tools, as in `npm run`. */
function pathOf({ root, workspace }: Project, given: string | undefined): string {
  const tools = [...new Set([root, workspace])].map((folder) => path.join(folder, 'node_modules', '.bin'));
  return [...tools, given ?? ''].filter((part) => part !== '').join(path.delimiter);
}
