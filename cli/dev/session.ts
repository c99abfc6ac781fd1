// The main part of `platform dev`: keeps an engine on the last successful build of a project. The builder watches the
// sources; this file watches everything else (platform.yaml, variables, assets). After a failed build, the previous
// build is still served.
import { mkdtemp, realpath, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import path from 'node:path';
import type { Bundle } from '#builder/bundle/bundle.ts';
import { BuildError } from '#builder/project/build-error.ts';
import { findEntry, type ProjectEntry } from '#builder/frameworks/entry.ts';
import { isInside } from '#builder/project/containment.ts';
import { hasNodeCompat } from '#builder/project/project.ts';
import { watch, type Watch, type WatchResult } from '#builder/bundle/watch.ts';
import { defaultLimits } from '#core/limits.ts';
import type { DevEngine } from '#runtime/dev/contract/dev-engine.ts';
import { failuresOf, type Failure } from '../terminal/failure.ts';
import { buildProject, type Project } from '../project/project.ts';
import { resolveProject } from '../project/resolved-config.ts';
import { variableFiles } from '../project/variables.ts';
import { createDevBuild } from './build.ts';
import { devEnvironment } from './environment.ts';
import { openServices } from './services.ts';
import type { LoadOther } from '../project/other-projects.ts';
import { watchFolder, type Watcher } from './watcher.ts';

/** Events of a session. */
export interface SessionEvents {
  /**
   * The engine serves a new build. `buildMs`: time from the detected change; null if the watch does not report it.
   */
  served(build: { readonly first: boolean; readonly cause: string | null; readonly buildMs: number | null }): void;
  /**
   * Called when a build has failed, once for each error. `serving` is true if the last successful build keeps serving.
   */
  failed(error: unknown, told: { readonly failures: readonly Failure[]; readonly serving: boolean }): void;
  /** Live output of the build command. */
  built(text: string): void;
  warned(message: string): void;
}

/** Dependencies of a session. */
interface SessionDeps {
  readonly engine: DevEngine;
  /** Watched folder, absolute. */
  readonly folder: string;
  /** Reloads the project; throws configuration errors. */
  readonly load: () => Project;
  /** Loads other projects of the workspace that this project calls; without this function, they are not served. */
  readonly loadOther?: LoadOther;
  readonly watching: boolean;
  /** Settles when the session is to stop, possibly before the first build ends. */
  readonly stopped: Promise<unknown>;
  readonly events: SessionEvents;
}

/** A running session. */
interface Session {
  close(): Promise<void>;
}

/**
 * Starts a session; resolves when the first build is served or has failed, or on stop. Rejects if the first build fails
 * and the session could not notice a fix.
 */
export async function startSession(deps: SessionDeps): Promise<Session> {
  const { engine, folder, load, loadOther, watching, stopped, events } = deps;
  const temporary = await mkdtemp(path.join(tmpdir(), 'platform-dev-'));
  const artifacts = path.join(temporary, 'artifacts');
  let project: Project | null = null;
  let sources: Watch | null = null;
  let bundle: Bundle | null = null;
  let opened = false;
  let kind: ProjectEntry['kind'] = 'dynamic';
  /** The last reported error; null if there is none. */
  let told: string | null = null;
  /** Folders created by the build command. */
  let made: readonly string[] | null = null;
  /** Recent artifacts, newest first, because requests may still read assets of the previous one. */
  const served: string[] = [];
  let closed = false;
  /** Serializes builds, so that an older build never replaces a newer one. */
  let queue: Promise<void> = Promise.resolve();
  const settledOnce = Promise.withResolvers<void>();

  /** Warnings already reported. */
  const warned = new Set<string>();
  const warn = (message: string): void => {
    if (!warned.has(message)) events.warned(message);
    warned.add(message);
  };
  const enqueue = (work: () => Promise<void>): void => {
    queue = queue.then(async () => {
      if (closed) return;
      try {
        await work();
      } catch (error) {
        if (!closed) fail(error);
      }
    });
  };
  const fail = (error: unknown): void => {
    if (!watching) return settledOnce.reject(error);
    const failures = failuresOf(error);
    const serving = served.length > 0;
    engine.fail(failures);
    const text = JSON.stringify(failures);
    if (text !== told) events.failed(error, { failures, serving });
    told = text;
    settledOnce.resolve();
  };

  const called =
    loadOther === undefined
      ? null
      : openServices({
          load: loadOther,
          artifacts,
          warn,
          changed: watching
            ? (file) => {
                const began = performance.now();
                // Before the first successful bundle there is nothing to serve. The first deployment includes the
                // called projects.
                if (bundle !== null || sources === null) enqueue(() => serve(file, began));
              }
            : null,
        });

  /** Builds with the newest bundle and deploys it. */
  const serve = async (cause: string | null, began: number | null): Promise<void> => {
    if (project === null) return;
    const built = await buildProject(project, artifacts, {
      durable: false,
      compress: false,
      made,
      onWarning: warn,
      ...(bundle !== null && { bundle }),
    });
    const services = (await called?.build(project)) ?? [];
    await engine.deploy({ artifactFolder: built.folder, ...(await devEnvironment(project, warn)), services });
    told = null;
    events.served({ first: served.length === 0, cause, buildMs: began === null ? null : performance.now() - began });
    if (served[0] !== built.folder) served.unshift(built.folder);
    for (const old of served.splice(2)) if (!served.includes(old)) await rm(old, { recursive: true, force: true });
    settledOnce.resolve();
  };

  /** Loads the configuration and watches its sources. */
  const open = async (cause: string | null, began: number): Promise<void> => {
    opened = false;
    await sources?.close();
    sources = null;
    bundle = null;
    project = resolveProject(load());
    const root = await realpath(project.root);
    follow(project.root);
    const { config } = project;
    made = await command.run(project, root);
    const found: ProjectEntry = findEntry(root, config);
    if (found.kind === 'ssr')
      throw new BuildError('unknown_kind', 'The project now runs in Node (kind ssr): start platform dev again');
    kind = found.kind;
    opened = true;
    if (found.entry === null || !watching) return serve(cause, began);
    const options = {
      root,
      workspace: project.workspace,
      entry: found.entry,
      nodeCompat: hasNodeCompat(config),
      workflowClasses: config.workflowClasses ?? {},
      bytesMax: defaultLimits.bundleBytesMax,
    };
    sources = watch(options, (result) => enqueue(() => take(result, bundle === null ? began : null)));
  };
  const take = async (result: WatchResult, began: number | null): Promise<void> => {
    if (result.error) throw result.error;
    bundle = result.bundle;
    await serve('sources', began);
  };

  const command = createDevBuild({
    again: (cause) => enqueue(() => open(cause, performance.now())),
    output: events.built,
    warn,
  });
  const onChange = (paths: readonly string[]): void => {
    const began = performance.now();
    const config = paths.find(
      (file) => /^platform\.ya?ml$/.test(file) || path.join(folder, file) === project?.configFile,
    );
    if (config === undefined && project !== null && command.takes(project, paths)) return;
    if (config !== undefined || project === null || !opened)
      return enqueue(() => open(config ?? paths[0] ?? null, began));
    const cause =
      paths.find((file) => (variableFiles as readonly string[]).includes(file)) ??
      paths.find((file) => isMigration(project!, file)) ??
      paths.find((file) => isStatic(project!, kind, file));
    // Before the first successful bundle there is nothing to serve. The first deployment includes variables and files.
    if (cause !== undefined && (bundle !== null || sources === null)) enqueue(() => serve(cause, began));
  };
  const watchers = new Map<string, Watcher>();
  /** Watches a folder unless a parent is watched; `base` may be outside the folder of platform.yaml. */
  const follow = (watched: string): void => {
    if (!watching || [...watchers.keys()].some((around) => isInside(around, watched))) return;
    const named = (file: string): string => path.relative(folder, path.join(watched, file));
    watchers.set(
      watched,
      watchFolder(watched, [], (paths) => onChange(paths.map(named)), {
        onLimit: ({ message, advice }) => warn(`${message}. ${advice}`),
      }),
    );
  };
  follow(folder);
  enqueue(() => open(null, performance.now()));

  await Promise.race([settledOnce.promise, stopped]);
  return {
    async close() {
      closed = true;
      command.close();
      // Wait for the queue first, because a running build may open watches.
      await queue;
      for (const watcher of watchers.values()) watcher.close();
      called?.close();
      await sources?.close();
      await rm(temporary, { recursive: true, force: true });
    },
  };
}

/** Whether a changed path, relative to the project's folder, is a migration. */
function isMigration(project: Project, file: string): boolean {
  return file.endsWith('.sql') && path.dirname(inRoot(project, file)).split(path.sep)[0] === 'migrations';
}

/** Whether a changed path, relative to the project's folder, is one of the static files. */
function isStatic(project: Project, kind: ProjectEntry['kind'], file: string): boolean {
  const relative = path.relative(project.config.out ?? (kind === 'static' ? '.' : 'public'), inRoot(project, file));
  return relative !== '..' && !relative.startsWith(`..${path.sep}`);
}

function inRoot({ folder, root }: Project, file: string): string {
  return path.relative(root, path.join(folder, file));
}
