// Keeps the engine's worker up to date: collects its modules after each change, sends new modules, and delays requests
// until the current worker serves.
import { fileURLToPath } from 'node:url';
import type { DevEnvironment } from 'vite';
import { FILES_PATH, openChannel, type ServeFile } from './channel.ts';
import { defer, type Deferred } from './deferred.ts';
import type { EngineProcess } from './engine-process.ts';
import type { SentFiles, SentModule } from './messages.ts';
import { createModuleSet, portableMap, type ModuleSet, type WorkerModule } from './modules.ts';

/** The worker behind a dev server. */
export interface WorkerHost {
  /** A file was saved: requests wait until Vite invalidates its modules. */
  saved(file: string): void;
  /** Vite has invalidated the modules of a file after one save. */
  noticed(file: string): void;
  /** Modules of the worker may have changed. */
  changed(): void;
  /** Configuration, variables or migrations have changed. */
  reload(): void;
  /** Resolves when the newest worker serves, with the engine's port. Rejects with the worker's error. */
  settled(): Promise<number>;
  close(): Promise<void>;
}

interface WorkerHostDeps {
  readonly engine: EngineProcess;
  /** Folder to which source names are relative. */
  readonly folder: string;
  /** The environment of the worker's entry comes first. */
  readonly environments: readonly DevEnvironment[];
  /** URL of its entry module. */
  readonly entry: string;
  /** Folders of the worker's files: pages, and files served unchanged. */
  readonly folders: Omit<SentFiles, 'url'>;
  /** Handles the worker's requests for its files. */
  readonly serveFile: ServeFile;
  /** Result of a change that no request waits for; null if it serves. */
  readonly told: (error: unknown) => void;
}

/** Vite calls its plugins first, which may take a while; it does not report a save that restarts it. */
const NOTICED_MS_MAX = 2000;

/** Opens the port for the isolate's requests. */
export async function openWorkerHost({
  engine,
  folder,
  environments,
  entry,
  folders,
  serveFile,
  told,
}: WorkerHostDeps): Promise<WorkerHost> {
  const sets = new Map<string, ModuleSet>(
    environments.map((environment, index) => [
      environment.name,
      createModuleSet(environment, index === 0 ? entry : null),
    ]),
  );
  const runnerFile = fileURLToPath(import.meta.resolve('vite/module-runner'));
  const channel = await openChannel({
    environments,
    serveFile,
    asked(environment, url) {
      if (sets.get(environment)?.add(url) === true) changed();
    },
  });
  let sent = new Map<string, ReadonlyMap<string, WorkerModule>>();
  let number = 0;
  let isChanged = true;
  let needsReload = false;
  let isClosed = false;
  let running: Promise<void> | null = null;
  /** Saved files whose modules Vite has not invalidated yet: it may handle another file first. */
  const saves = new Map<string, number>();
  /** Resolves when Vite has invalidated the modules of all saved files; null if there are none. */
  let saved: Deferred<void> | null = null;

  async function run(): Promise<void> {
    isChanged = false;
    const collected = new Map<string, ReadonlyMap<string, WorkerModule>>();
    await Promise.all([...sets].map(async ([name, set]) => void collected.set(name, await set.collect())));
    if (needsReload) {
      needsReload = false;
      await engine.deploy({ type: 'reload', number: number++ });
    }
    if (isSame(collected, sent)) return;
    const builtins = new Set<string>();
    const message: Record<string, SentModule[]> = {};
    for (const { name } of environments) {
      const before = sent.get(name);
      message[name] = [...collected.get(name)!.values()].map((module): SentModule => {
        for (const builtin of module.builtins) builtins.add(builtin);
        const { url, id, file, result } = module;
        return before?.get(url) === module
          ? [url, id, file]
          : [url, id, file, result.code, portableMap(module, folder)];
      });
    }
    sent = collected;
    try {
      await engine.deploy({
        type: 'worker',
        number: number++,
        runnerFile,
        channel: channel.url,
        files: { url: `${channel.url}${FILES_PATH}`, ...folders },
        entry: { environment: environments[0]!.name, url: entry },
        builtins: [...builtins].sort(),
        environments: message,
      });
    } catch (error) {
      // The next request collects the modules again.
      isChanged = true;
      throw error;
    }
  }

  async function settled(): Promise<number> {
    // Repeats until no module has changed while the worker was being deployed.
    while (!isClosed) {
      if (saved !== null) await saved.promise;
      if (running === null && !isChanged && ![...sets.values()].some((set) => set.isStale())) break;
      running ??= run().finally(() => (running = null));
      await running;
    }
    const { port } = await engine.ready;
    return port;
  }

  function forgetSaves(): void {
    saves.clear();
    saved?.resolve();
    saved = null;
  }

  function changed(): void {
    isChanged = true;
    if (isClosed) return;
    settled().then(
      () => told(null),
      (error: unknown) => isClosed || told(error),
    );
  }

  return {
    saved(file) {
      saves.set(file, (saves.get(file) ?? 0) + 1);
      if (saved !== null) return;
      const mine = (saved = defer<void>());
      const timer = setTimeout(forgetSaves, NOTICED_MS_MAX);
      void mine.promise.then(() => clearTimeout(timer));
    },
    noticed(file) {
      const left = (saves.get(file) ?? 0) - 1;
      if (left > 0) saves.set(file, left);
      else saves.delete(file);
      if (saves.size === 0) forgetSaves();
      changed();
    },
    changed,
    reload() {
      needsReload = true;
      changed();
    },
    settled,
    async close() {
      isClosed = true;
      forgetSaves();
      await channel.close();
    },
  };
}

function isSame(
  left: ReadonlyMap<string, ReadonlyMap<string, WorkerModule>>,
  right: ReadonlyMap<string, ReadonlyMap<string, WorkerModule>>,
): boolean {
  return [...left].every(([name, modules]) => {
    const others = right.get(name);
    return others?.size === modules.size && [...modules].every(([url, module]) => others.get(url) === module);
  });
}
