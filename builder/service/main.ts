// Entry point of the builder process: reads the environment, determines how builds can be confined, runs queued builds,
// and exits when idle for a while. Started by the supervisor on demand. Tenant code only runs in build processes.
import { mkdirSync, statSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { openArtifactStore } from '#artifacts/store/open.ts';
import type { SandboxExecutor } from '#core/sandbox/build-executor.ts';
import { createOwnAddresses } from '#core/egress.ts';
import { isFailure } from '#core/failure.ts';
import { openLog } from '#core/log/log.ts';
import { tellFigures } from '#core/process/figures.ts';
import { closeInherited } from '#core/process/inherited-descriptors.ts';
import { runProcess, type RunningProcess } from '#core/process/run-process.ts';
import { openSandboxClient } from '#core/sandbox/service-client.ts';
import { cloneSource, type CloneDeps } from '#git/clone-source.ts';
import { gitConfigurationFrom } from '#git/configuration.ts';
import { openApplication, overridingVariable, readApplication } from '#git/host/application.ts';
import { readInstallation } from '#postgres/installation-id.ts';
import { openSql } from '#postgres/sql.ts';
import { confinementOf, describeConfinement } from '#core/process/confinement/confinement.ts';
import { machineMemory } from '#core/process/machine-memory.ts';
import { guardedLookup } from '#core/outbound/host-names.ts';
import { noServers } from '#core/process/confinement/servers-here.ts';
import type { Confinement } from '#core/process/confinement/types.ts';
import { CHILD, ownFolders } from '../steps/own-folders.ts';
import { outboundRules } from '../steps/outbound/reach.ts';
import { buildFailure } from '../steps/types.ts';
import { runBuild } from './run-build.ts';
import type { SandboxBuilds } from './build-attempt.ts';
import { startBuilder } from './builder.ts';
import { builderConfig } from './configuration.ts';
import type { FindRemote } from './jobs/source.ts';

/** Time to record results at shutdown: Postgres may be unavailable; the next builder finds the rest by their leases. */
const CLOSE_MS_MAX = 8000;
/** How long a finished build waits for an unresponsive storage of artifacts. */
const STORE_AWAY_MS_MAX = 60_000;

const log = openLog('builder', process.env);

/**
 * Fetches remote repositories with short-lived credentials. An operator may create or remove the Git host's application
 * while the builder runs.
 */
function remotes(deps: CloneDeps, hasOwn: boolean): FindRemote {
  return async ({ id }) => {
    try {
      const application = hasOwn ? null : await readApplication(deps.sql, deps.keys);
      const gitHost = application === null ? deps.gitHost : openApplication(application, deps.privateHosts);
      const { redact, ...source } = await cloneSource({ ...deps, gitHost }, id);
      return { source, secrets: redact };
    } catch (error) {
      if (isFailure(error, 'clone_refused'))
        throw buildFailure('repository_unavailable', error.message, { cause: error });
      if (isFailure(error, 'git_host'))
        throw buildFailure('git_host_unavailable', `The Git host denies access: ${error.message}`, {
          cause: error,
        });
      throw error;
    }
  };
}

/** The work folder is in the data folder, unless the build users cannot access it. */
async function placeOfWork(folder: string, asked: string | null): Promise<[string, Confinement]> {
  const probe = async (work: string): Promise<Confinement> => {
    mkdirSync(work, { recursive: true, mode: 0o711 });
    return confinementOf({
      workFolders: work,
      privateFolders: [folder],
      readable: ownFolders(),
      needs: CHILD,
      isOffline: true,
      mayShareNetwork: true,
    });
  };
  // The work folder is named after the data folder's identity, not its path; existing content is removed at the start.
  const own = `platform-builds-${statSync(folder).ino}`;
  const inside = asked === null ? join(folder, 'builds', 'work') : join(asked, own);
  const confinement = await probe(inside);
  if (confinement.kind !== 'none' || asked !== null || process.getuid?.() !== 0) return [inside, confinement];
  const outside = join(tmpdir(), own);
  const second = await probe(outside);
  return second.kind === 'none' ? [inside, confinement] : [outside, second];
}

function sandboxBuilds(executor: SandboxExecutor | null): SandboxBuilds | null {
  if (executor === null) return null;
  const { url, token, organizations, machine } = executor;
  return { client: openSandboxClient({ url, token }), organizations, machine };
}

async function start({ stop }: RunningProcess): Promise<() => Promise<void>> {
  closeInherited();
  const config = builderConfig(process.env, machineMemory());
  const git = gitConfigurationFrom(process.env);
  const [workFolder, confinement] = await placeOfWork(config.folder, config.workFolder);
  log[confinement.kind === 'none' ? 'warn' : 'info'](describeConfinement(confinement));
  const sql = openSql({
    url: config.databaseUrl,
    name: 'platform builder',
    connectionsMax: 2 + 2 * config.concurrency,
  });
  const allowed = (process.env['WORKER_EGRESS_ALLOW'] ?? '').split(',').map((word) => word.trim());
  const policy = { loopback: false, private: allowed.includes('private'), isOwn: createOwnAddresses() };
  const outbound = outboundRules(
    { policy, lookup: guardedLookup(policy), privateHosts: git.privateHosts },
    process.env,
  );
  const hasOwn = overridingVariable(process.env) !== null;
  const findRemote = remotes({ ...git, sql, keys: config.keys, folder: config.folder }, hasOwn);
  const sandboxes = sandboxBuilds(config.sandboxes);
  const artifacts = await openArtifactStore(process.env, {
    dataFolder: config.folder,
    limits: config.limits,
    installation: () => readInstallation(sql),
    awayMsMax: STORE_AWAY_MS_MAX,
  });
  const builder = await startBuilder({
    ...config,
    sql,
    artifacts,
    log,
    confinement,
    outbound,
    // If handlers run on this machine, servers are confined like builds.
    noServers: process.env['PLATFORM_SERVERS_HERE'] === '1' ? noServers(confinement) : null,
    workFolder,
    runBuild,
    findRemote,
    sandboxes,
  });
  process.send?.({ type: 'ready' });
  tellFigures(() => [['platform_builds_running', {}, builder.running]]);
  void builder.idle.then(() => stop());
  return () => builder.close();
}

await runProcess(log, start, { closeMsMax: CLOSE_MS_MAX });
