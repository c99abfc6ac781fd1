// Keeps an engine on the worker sent by the Vite plugin, with platform.yaml, variables, migrations and called projects.
// Used by `platform vite engine`; independent of the transport.
import { createDevWorkers, type DevModule, type DevWorkerOptions } from '#builder/vite/dev-worker.ts';
import { openDevArtifact } from '#builder/vite/dev-artifact.ts';
import type { SentFiles, ToEngine } from '#packages/vite/messages.ts';
import type { OpenDevEngine } from '#runtime/dev/contract/dev-engine.ts';
import type { Project } from '../project/project.ts';
import { devEnvironment } from '../dev/environment.ts';
import type { Services } from '../dev/services.ts';

type WorkerMessage = Extract<ToEngine, { type: 'worker' }>;

/** A running session. The methods of a session deploy, and reject with the errors. */
export interface ViteSession {
  /** Files of the worker; null before the first deployment. */
  readonly files: SentFiles | null;
  /** Deploys another worker. */
  take(message: WorkerMessage): Promise<void>;
  /** Reloads configuration, variables and migrations. */
  reload(): Promise<void>;
  /** Deploys the worker with the projects that it calls, after one of them has changed. */
  callsChanged(): Promise<void>;
}

/** @param load reloads the project; throws configuration errors. @param services the projects that it calls. */
export function createViteSession(
  engine: OpenDevEngine,
  load: () => Project,
  services: Pick<Services, 'build'>,
): ViteSession {
  const makeWorker = createDevWorkers();
  /** Environment -> URL -> module. */
  let modules = new Map<string, Map<string, DevModule>>();
  let newest: Omit<DevWorkerOptions, 'workflowClasses'> | null = null;
  let files: SentFiles | null = null;
  let project: Project | null = null;
  /** Serializes deployments, so that an older one never replaces a newer one. */
  let queue: Promise<void> = Promise.resolve();

  function enqueue(work: () => Promise<void>): Promise<void> {
    const done = queue.then(work);
    queue = done.catch(() => {});
    return done;
  }

  async function deploy(): Promise<void> {
    if (newest === null) return;
    project ??= load();
    const worker = await makeWorker({ ...newest, workflowClasses: project.config.workflowClasses ?? {} });
    const artifact = openDevArtifact(project.config, worker);
    const called = await services.build(project);
    await engine.deployOpen({ artifact, ...(await devEnvironment(project)), services: called });
  }

  return {
    get files() {
      return files;
    },
    take: (message) =>
      enqueue(async () => {
        modules = merged(modules, message.environments);
        files = message.files;
        const { runnerFile, channel, entry, builtins } = message;
        const environments = new Map([...modules].map(([name, known]) => [name, [...known.values()]]));
        newest = { runnerFile, channel, entry, builtins, environments };
        await deploy();
      }),
    reload: () =>
      enqueue(async () => {
        project = null;
        project = load();
        await deploy();
      }),
    callsChanged: () => enqueue(deploy),
  };
}

/** Modules of a message, merged with the unchanged modules. */
function merged(
  before: ReadonlyMap<string, ReadonlyMap<string, DevModule>>,
  sent: WorkerMessage['environments'],
): Map<string, Map<string, DevModule>> {
  return new Map(
    Object.entries(sent).map(([environment, list]) => {
      const known = before.get(environment);
      const modules = list.map(([url, id, file, code, map]): [string, DevModule] => {
        if (code !== undefined) return [url, { url, id, file, code, map: map ?? null }];
        const module = known?.get(url);
        if (module === undefined) throw new Error(`The plugin did not send ${url}, which the engine does not have`);
        return [url, module];
      });
      return [environment, new Map(modules)];
    }),
  );
}
