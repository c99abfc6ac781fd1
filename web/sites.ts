// Finds the built sites: next to this file in the package; for a clone in the cache, by the hash of their sources,
// built in a separate process if missing (web/build/main.ts). Called by main.ts.
import { fork } from 'node:child_process';
import { existsSync } from 'node:fs';
import { setPriority } from 'node:os';
import { join } from 'node:path';
import type { Logger } from 'pino';
import { openSite, type Site } from './serve/serve-site.ts';
import { MANIFEST_FILE } from './serve/site-manifest.ts';

export type SiteName = 'dashboard' | 'docs';

/** A site, or the reason why it is missing. */
type SiteState =
  | { readonly site: Site }
  | { readonly site: null; readonly isBuilding: boolean; readonly reason: string };

interface SitesDeps {
  readonly wanted: readonly { readonly name: SiteName; readonly isHttps: boolean }[];
  /** Builds missing sites; null in the package, which contains all sites. */
  readonly builder: string | null;
  readonly log: Logger;
}

/** Sites in the package. */
const packed: Readonly<Record<SiteName, string>> = {
  dashboard: join(import.meta.dirname, '../dashboard/dist'),
  docs: join(import.meta.dirname, 'docs-site/dist'),
};
/** Low priority of builds. */
const NICE = 10;
const BUILD_MS_MAX = 300_000;

/** Opens sites by name when they are available. */
export async function openSites({ wanted, builder, log }: SitesDeps): Promise<{
  state(name: SiteName): SiteState;
  close(): void;
}> {
  const states = new Map<SiteName, SiteState>();
  const missing: { name: SiteName; isHttps: boolean }[] = [];
  for (const { name, isHttps } of wanted) {
    const folder = packed[name];
    if (existsSync(join(folder, MANIFEST_FILE))) states.set(name, { site: await openSite(folder, isHttps) });
    else {
      const reason =
        builder === null ? 'This installation does not contain the site' : 'The site is built at the first start';
      states.set(name, { site: null, isBuilding: builder !== null, reason });
      if (builder !== null) missing.push({ name, isHttps });
    }
  }
  const stop = builder === null || missing.length === 0 ? () => {} : build(builder);

  /** Builds all sites sequentially in one process. */
  function build(script: string): () => void {
    const child = fork(
      script,
      missing.map(({ name }) => name),
      // Ignore the output of bundlers; errors are sent as messages.
      { stdio: ['ignore', 'ignore', 'ignore', 'ipc'], execArgv: [...process.execArgv] },
    );
    if (child.pid !== undefined) setPriority(child.pid, NICE);
    const late = setTimeout(() => child.kill('SIGKILL'), BUILD_MS_MAX);
    child.on('message', (message: { name: SiteName; folder?: string; error?: string }) => {
      const { isHttps } = missing.find(({ name }) => name === message.name)!;
      const opened =
        message.folder === undefined ? Promise.reject(new Error(message.error)) : openSite(message.folder, isHttps);
      opened.then(
        (site) => states.set(message.name, { site }),
        (error: unknown) => {
          states.set(message.name, {
            site: null,
            isBuilding: false,
            reason: 'The build failed; see the log',
          });
          log.error({ site: message.name, error: (error as Error).message }, 'Site not built');
        },
      );
    });
    child.on('exit', (code, signal) => {
      clearTimeout(late);
      for (const { name } of missing) {
        const state = states.get(name)!;
        if (state.site !== null || !state.isBuilding || code === 0) continue;
        states.set(name, { site: null, isBuilding: false, reason: 'The build failed; see the log' });
        log.error({ site: name, code, signal }, 'Site not built');
      }
    });
    return () => child.kill('SIGKILL');
  }

  return { state: (name) => states.get(name)!, close: stop };
}
