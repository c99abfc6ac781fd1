// The projects of a workspace that the project of `platform dev` calls with service bindings, and the projects that
// these call. These projects are built and served in the same engine, and built again when one of their files changes.
// Called by session.ts.
import { rm } from 'node:fs/promises';
import path from 'node:path';
import { BuildError } from '#builder/project/build-error.ts';
import { objectOwners } from '#core/bindings/object.ts';
import { parseServiceTarget } from '#core/bindings/service.ts';
import type { DevDeployment } from '#runtime/dev/contract/dev-engine.ts';
import { foldersOf, type LoadOther } from '../project/other-projects.ts';
import { buildProject, nameOf, type Project } from '../project/project.ts';
import { devEnvironment } from './environment.ts';
import { watchFolder, type Watcher } from './watcher.ts';

type DevService = NonNullable<DevDeployment['services']>[number];

/** Dependencies of {@link openServices}. */
interface ServiceDeps {
  readonly load: LoadOther;
  /** Folder of the artifacts, named `artifacts`. */
  readonly artifacts: string;
  readonly warn: (message: string) => void;
  /**
   * Called when a file of a called project has changed, so that `build` must be called again. Null means that files are
   * not watched.
   */
  readonly changed: ((file: string) => void) | null;
}

/** The called projects. */
export interface Services {
  /**
   * Services that a project currently calls. Builds new and changed projects; warns about a project that the workspace
   * does not have.
   *
   * @throws {BuildError} of a called project.
   */
  build(project: Project): Promise<readonly DevService[]>;
  close(): void;
}

interface Called {
  readonly service: DevService;
  /** Names of the projects that this project calls. */
  readonly calls: readonly string[];
  /** The previous artifact, which requests may still read. */
  readonly before: string | null;
}

/** Opens the called projects of one session. */
export function openServices({ load, artifacts, warn, changed }: ServiceDeps): Services {
  const made = new Map<string, Called>();
  const watchers = new Map<string, Watcher>();
  const stale = new Set<string>();

  const watch = (name: string, folder: string, caller: string): void => {
    if (changed === null || watchers.has(name)) return;
    const onChange = (paths: readonly string[]): void => {
      stale.add(name);
      changed(path.relative(caller, path.join(folder, paths[0]!)));
    };
    const ignored = caller.startsWith(folder + path.sep) ? [path.relative(folder, caller)] : [];
    watchers.set(
      name,
      watchFolder(folder, ignored, onChange, { onLimit: ({ message, advice }) => warn(`${message}. ${advice}`) }),
    );
  };

  const make = async (name: string, folder: string, caller: string): Promise<Called> => {
    // The folder is watched before the build, so that a change that repairs a failed build is noticed.
    watch(name, folder, caller);
    const project = load(folder);
    const { folder: artifactFolder } = await buildProject(project, artifacts, {
      durable: false,
      compress: false,
      onWarning: warn,
    });
    const service = { ...(await devEnvironment(project, warn)), project: name, artifactFolder };
    const old = made.get(name);
    const inUse = [artifactFolder, old?.service.artifactFolder];
    if (old !== undefined && old.before !== null && !inUse.includes(old.before))
      await rm(old.before, { recursive: true, force: true });
    return { service, calls: calledBy(project), before: old?.service.artifactFolder ?? null };
  };

  return {
    async build(project) {
      const waiting = calledBy(project);
      const own = nameOf(project);
      const needed = new Set<string>();
      let folders: ReadonlyMap<string, string> | null = null;
      for (let name = waiting.shift(); name !== undefined; name = waiting.shift()) {
        if (name === own || needed.has(name)) continue;
        let called = made.get(name);
        if (called === undefined || stale.has(name)) {
          folders ??= foldersOf(project, load);
          const folder = folders.get(name);
          if (folder === undefined) {
            warn(`The workspace has no project ${name}: calls of its services and objects fail`);
            continue;
          }
          stale.delete(name);
          try {
            called = await make(name, folder, project.folder);
          } catch (error) {
            stale.add(name);
            throw error instanceof BuildError ? inFolder(error, path.relative(project.folder, folder)) : error;
          }
          made.set(name, called);
        }
        needed.add(name);
        waiting.push(...called.calls);
      }
      for (const [name, watcher] of watchers) {
        if (needed.has(name)) continue;
        watcher.close();
        watchers.delete(name);
        made.delete(name);
      }
      return [...needed].map((name) => made.get(name)!.service);
    },
    close() {
      for (const watcher of watchers.values()) watcher.close();
    },
  };
}

/** The error of a called project, with locations relative to the caller's folder. */
function inFolder(error: BuildError, folder: string): BuildError {
  const { code, message, place, frame, others } = error;
  return new BuildError(code, place === null ? `${folder}: ${message}` : message, {
    place: place && { ...place, file: path.join(folder, place.file) },
    frame,
    others: others.map((other) => inFolder(other, folder)),
    cause: error.cause,
  });
}

function calledBy({ config }: Project): string[] {
  const services = Object.values(config.bindings.service ?? {}).map((target) => parseServiceTarget(target).project);
  return [...services, ...objectOwners(config.objects).map(([, owner]) => owner)];
}
