// Publishes a project to a platform with a control plane: builds locally, uploads the artifact, and follows the
// release. Called by `platform deploy`.
import { existsSync, mkdtempSync, readdirSync, rmSync, statSync } from 'node:fs';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { limitsFrom } from '#core/limits.ts';
import type { Api } from '../account/api.ts';
import { guardedText, stepsText, urlsOf } from '../api/deployment-text.ts';
import { failureOfDeployment, followDeployment, formatBuildLine } from '../api/follow.ts';
import { findProject, organizationOf } from '../api/project.ts';
import type { BuildLine, Project as ProjectRecord, Variable } from '../api/records.ts';
import { allOf, ask } from '../api/requests.ts';
import { changeVariables } from '../api/variables.ts';
import type { Scope } from '../api/variable-flags.ts';
import { describe } from '../project/built.ts';
import { findPlatform, inWords } from '../local/local-platform.ts';
import { handlerAddress } from '../local/locations.ts';
import { commitOf } from '../project/git-branch.ts';
import { writeLink, findLink } from '../project/link.ts';
import { buildHere, loadProject, nameOf, wantsAi, type Project } from '../project/project.ts';
import { branchOf } from '../project/target.ts';
import { readVariables } from '../project/variables.ts';
import { CliError } from '../terminal/failure.ts';
import { continued } from '../terminal/printed.ts';
import type { Shell } from '../terminal/shell.ts';
import type { DeployFlags } from './deploy-local.ts';
import { refuseServer } from './refuse-server.ts';
import { unsetAdvice } from './unset-variables.ts';
import { uploadArtifact } from './upload.ts';

/** Flags of the deployment and its target. */
interface Flags extends DeployFlags {
  readonly org?: string | undefined;
  readonly api?: string | undefined;
  readonly token?: string | undefined;
}

interface AiState {
  readonly state: string;
  readonly advice: string | null;
}

/** Log lines shown with an error. */
const LINES_SHOWN = 30;

/** Builds, uploads and follows the release. @throws {CliError} if the deployment fails. */
export async function deployByApi(shell: Shell, api: Api, folder: string, flags: Flags): Promise<void> {
  if (flags.force === true)
    throw new CliError(
      '--force is only supported without a control plane: this platform starts every worker before serving it',
      {
        exitCode: 2,
        advice: 'Fix the worker. `platform dev` shows why the worker does not start.',
      },
    );
  const project = loadProject(shell, folder, flags.config ?? null);
  const { branch, isDefault } = branchOf(project.folder, flags.branch, null);
  if (flags.json !== true) shell.out(shell.paint('dim', `Deploying to ${await placeOf(shell, api)}`));
  // Find the project while the build runs.
  const wanted = whereTo(shell, api, project, flags);
  wanted.catch(() => {});
  const keepsFreeBytes = limitsFrom(shell.env).diskFreeBytesMin;
  const temporary = mkdtempSync(path.join(tmpdir(), 'platform-deploy-'));
  try {
    // Only for the platform on this machine: a remote platform checks whether it can isolate servers.
    if (api.source === 'machine' && flags.prebuilt === undefined) await refuseServer(shell, project);
    const built =
      flags.prebuilt === undefined
        ? await buildHere(shell, project, temporary, { durable: false, keepsFreeBytes })
        : null;
    const artifact = built?.folder ?? prebuiltFolder(path.resolve(shell.cwd, flags.prebuilt!));
    const { found, create } = await wanted;
    // Create the project after the build, so that a failed build leaves no project behind.
    const record = found ?? (await create());
    const isProduction = flags.prod === true || isDefault;
    const scope: Scope = isProduction ? { kind: 'production' } : { kind: 'branch', branch };
    if (flags.vars !== null) await replaceVariables(shell, api, record, scope, flags.vars);
    const target = isProduction ? 'production' : 'preview';
    const commit = commitOf(project.folder);
    const id = await uploadArtifact(shell, api, record.id, artifact, {
      branch,
      target,
      ...(commit !== null && { commit }),
    });
    const lines: BuildLine[] = [];
    const deployment = await followDeployment(shell, api, id, { onLine: (line) => void lines.push(line) });
    const failure = failureOfDeployment(deployment);
    if (failure !== null) throw withLog(shell, found === null ? ofNewProject(failure, record) : failure, lines);
    const now = await ask<ProjectRecord>(api, 'GET', `/projects/${encodeURIComponent(record.id)}`);
    const isServed = now.productionDeploymentId === id;
    const urls = urlsOf(deployment);
    const unset = await unsetVariables(api, record, project, scope);
    const ai = wantsAi(() => project) ? await readAi(api, record) : null;
    // The advice is also printed with --json, to standard error, for the logs of scripts.
    const sayAi = (): void => {
      if (ai !== null && ai.advice !== null)
        shell.err(shell.paint(ai.state === 'mock' ? 'dim' : 'yellow', `AI: ${ai.advice}`));
    };
    if (flags.json) {
      sayAi();
      const guardedRelease = deployment.guardedRelease ?? null;
      const told = { project: record.name, deployment: id, branch, production: isServed, running: true, urls };
      shell.out(
        JSON.stringify({
          ...told,
          guardedRelease,
          artifact: built?.id ?? path.basename(artifact),
          unsetVariables: unset,
          ai: ai?.state ?? null,
        }),
      );
      return;
    }
    if (built !== null) shell.out(`${shell.paint('green', 'Built')} ${describe(built)}`);
    const guarded = guardedText(deployment);
    const as = isServed ? 'production' : (guarded ?? `preview of ${branch}`);
    shell.out(`${shell.paint('green', 'Deployed')} ${record.name} as ${id} (${as})`);
    if (deployment.guardedRelease?.state === 'running')
      shell.out(`  then ${stepsText(deployment)}: \`platform deployments view ${id}\` shows its figures`);
    for (const url of urls) shell.out(`  ${shell.paint('cyan', url)}`);
    if (now.productionDeploymentId === null)
      shell.out(`${record.name} has no production yet: \`platform deploy --prod\`, or \`platform promote ${id}\``);
    if (unset.length > 0)
      shell.err(unsetAdvice(shell, unset, isServed ? 'production' : `previews of ${branch}`, isServed, branch));
    sayAi();
  } finally {
    rmSync(temporary, { recursive: true, force: true });
  }
}

/** Describes the platform: by process on this machine, else by URL. */
async function placeOf(shell: Shell, api: Api): Promise<string> {
  if (api.source !== 'machine') return api.origin;
  const platform = await findPlatform(shell, () => handlerAddress(shell)).catch(() => null);
  return platform?.running == null
    ? api.origin
    : `the platform on ${inWords({ ...platform, pid: platform.running.pid })}`;
}

/** Finds the project, or returns a function that creates it. */
async function whereTo(
  shell: Shell,
  api: Api,
  project: Project,
  flags: Flags,
): Promise<{ readonly found: ProjectRecord | null; readonly create: () => Promise<ProjectRecord> }> {
  const found = await findProject(shell, api, flags, { folder: project.folder });
  const organizationId = found?.organizationId ?? (await organizationOf(api, flags.org)).id;
  return {
    found,
    async create() {
      const body = { name: nameOf(project, flags.name), organizationId };
      const record = await ask<ProjectRecord>(api, 'POST', '/projects', { body });
      if (flags.json !== true) shell.err(shell.paint('dim', `Created the project ${record.name}`));
      if (findLink(project.folder) === null)
        writeLink(project.folder, { apiUrl: api.origin, projectId: record.id, organizationId });
      return record;
    },
  };
}

/** Adds advice about a new project whose first deployment failed. */
function ofNewProject({ message, advice, code }: CliError, { name }: ProjectRecord): CliError {
  const stays = `The project ${name} was created: deploy again, or delete it with \`platform projects delete ${name}\`.`;
  return new CliError(message, { advice: [advice, stays].filter(Boolean).join('\n'), code });
}

/** The folder itself if it is an artifact, otherwise the newest artifact in the folder. */
function prebuiltFolder(folder: string): string {
  if (existsSync(path.join(folder, 'manifest.json'))) return folder;
  const found = (existsSync(folder) ? readdirSync(folder) : [])
    .map((name) => path.join(folder, name))
    .filter((one) => existsSync(path.join(one, 'manifest.json')))
    .toSorted((a, b) => statSync(b).mtimeMs - statSync(a).mtimeMs);
  if (found[0] !== undefined) return found[0];
  throw new CliError(`There is no artifact in ${folder}`, {
    exitCode: 2,
    advice: 'Create an artifact with `platform build`, and pass its folder, or .platform/artifacts for the newest.',
  });
}

/** Implements --env-file: removes variables that are not in the file. */
async function replaceVariables(
  shell: Shell,
  api: Api,
  { id: name }: ProjectRecord,
  scope: Scope,
  variables: Readonly<Record<string, string>>,
): Promise<void> {
  const set = await variablesOf(api, name, scope);
  const gone = set.filter(({ key }) => !Object.hasOwn(variables, key)).map(({ key }) => [key, null] as const);
  await changeVariables(shell, api, { name }, scope, { ...Object.fromEntries(gone), ...variables }, false);
}

async function variablesOf(api: Api, projectId: string, scope: Scope): Promise<Variable[]> {
  const all = await allOf<Variable>(api, `/environment-variables/${encodeURIComponent(projectId)}`);
  return all.filter((one) => one.scope === scope.kind && (scope.kind !== 'branch' || one.branch === scope.branch));
}

/** Names in `.env` that the deployment does not have; none without permission to read variables. */
async function unsetVariables(api: Api, record: ProjectRecord, project: Project, scope: Scope): Promise<string[]> {
  const own = Object.keys(readVariables(project.folder));
  if (own.length === 0) return [];
  try {
    const set = new Set((await variablesOf(api, record.id, scope)).map(({ key }) => key));
    if (scope.kind === 'branch')
      for (const { key } of await variablesOf(api, record.id, { kind: 'preview' })) set.add(key);
    return own.filter((key) => !set.has(key));
  } catch {
    return [];
  }
}

/** Whether model calls would work; null if unsupported by the platform or not permitted. */
async function readAi(api: Api, { id }: ProjectRecord): Promise<AiState | null> {
  try {
    const { readiness } = await ask<{ readiness?: AiState }>(api, 'GET', `/projects/${encodeURIComponent(id)}/ai`);
    return readiness ?? null;
  } catch {
    return null;
  }
}

function withLog(shell: Shell, failure: CliError, lines: readonly BuildLine[]): CliError {
  if (lines.length === 0) return failure;
  const frame = lines
    .slice(-LINES_SHOWN)
    .map((line) => continued(formatBuildLine(shell, line)))
    .join('\n');
  const { message, advice, code } = failure;
  return new CliError(message, { advice, code, frame });
}
