// Publishes a project to the handler on this machine without a control plane, after checking that its worker starts.
// Called by `platform deploy`.
import { existsSync, statSync } from 'node:fs';
import path from 'node:path';
import { limitsFrom } from '#core/limits.ts';
import type { RouteRecord } from '#core/manifest.ts';
import { variablesOf } from '#core/preview.ts';
import { openArtifact } from '#artifacts/artifact-source.ts';
import { checkProjectName, publish } from '#artifacts/publish.ts';
import { readRoute } from '#artifacts/route-records.ts';
import { CliError } from '../terminal/failure.ts';
import { askPlatform, findPlatform, inWords, type LocalPlatform } from '../local/local-platform.ts';
import { handlerAddress } from '../local/locations.ts';
import { buildHere, loadProject, nameOf } from '../project/project.ts';
import { untilRouted } from '../routes/served.ts';
import type { Shell } from '../terminal/shell.ts';
import { branchOf, urlsOf } from '../project/target.ts';
import { readVariables } from '../project/variables.ts';
import { describe } from '../project/built.ts';
import { deleteClasses, refuseForgottenClasses } from '../routes/object-classes.ts';
import { refuseServer } from './refuse-server.ts';
import { unsetAdvice } from './unset-variables.ts';

/** Flags of `platform deploy`. */
export interface DeployFlags {
  readonly name?: string | undefined;
  readonly config?: string | undefined;
  readonly branch?: string | undefined;
  readonly prod?: boolean | undefined;
  /** Variables of --env-file. */
  readonly vars: Readonly<Record<string, string>> | null;
  /** Folder of an artifact. */
  readonly prebuilt?: string | undefined;
  readonly force?: boolean | undefined;
  readonly json?: boolean | undefined;
}

/** Builds, checks that the worker starts, and publishes to the data folder of the local handler. */
export async function deployLocally(shell: Shell, folder: string, args: DeployFlags): Promise<void> {
  if (args.prebuilt !== undefined)
    throw new CliError('--prebuilt requires a control plane', {
      exitCode: 2,
      advice: 'Omit the option: unchanged projects build quickly.',
    });
  const project = loadProject(shell, folder, args.config ?? null);
  const name = nameOf(project, args.name);
  checkProjectName(name);
  const { vars } = args;
  const platform = await findPlatform(shell, () => handlerAddress(shell));
  refuseOtherOwner(platform);
  const before = readRoute(platform.folder, name);
  const { branch, isDefault } = branchOf(project.folder, args.branch, before);
  const production = args.prod === true || isDefault;
  if (platform.running !== null && !args.json)
    shell.out(
      shell.paint('dim', `Deploying to the platform on ${inWords({ ...platform, pid: platform.running.pid })}`),
    );
  await refuseServer(shell, project);
  const built = await buildHere(shell, project, path.join(platform.folder, 'artifacts'), {
    keepsFreeBytes: limitsFrom(shell.env).diskFreeBytesMin,
  });
  const { manifest } = openArtifact(platform.folder, built.id);
  if (production) await refuseForgottenClasses(platform, before, manifest, name);
  if (args.force !== true) {
    const given = vars ?? variablesFor(before, branch, production);
    await checkStart(platform, { artifact: built.id, project: name, plan: before?.plan ?? 'free', vars: given });
  }
  const { deployment, route } = publish({
    dataFolder: platform.folder,
    project: name,
    branch,
    production,
    artifactFolder: built.folder,
    artifactId: built.id,
    ...(vars !== null && { vars }),
  });
  await untilRouted(platform, name);
  const isProduction = route.production === deployment.id;
  const deleted = isProduction ? await deleteClasses(platform, route) : [];
  const urls = urlsOf(platform, route, deployment.id);
  const running = platform.running !== null;
  const unset = Object.keys(readVariables(project.folder)).filter(
    (key) => !Object.hasOwn(variablesOf(route, deployment.id), key),
  );
  if (args.json) {
    const told = {
      project: name,
      deployment: deployment.id,
      artifact: built.id,
      branch,
      production: isProduction,
      running,
      urls,
    };
    shell.out(JSON.stringify({ ...told, unsetVariables: unset }));
    return;
  }
  const as = isProduction ? '(production)' : `(preview of ${branch})`;
  shell.out(`${shell.paint('green', 'Built')} ${describe(built)}`);
  shell.out(`${shell.paint('green', 'Deployed')} ${name} as ${deployment.id} ${as}`);
  if (running) for (const url of urls) shell.out(`  ${shell.paint('cyan', url)}`);
  else shell.err(`No running platform found for ${platform.folder}: the deployment is served when a platform starts.`);
  for (const line of deleted) shell.out(line);
  if (route.production === null)
    shell.out(`${name} has no production yet: \`platform deploy --prod\`, or \`platform promote ${deployment.id}\``);
  if (unset.length > 0)
    shell.err(unsetAdvice(shell, unset, isProduction ? 'production' : `previews of ${branch}`, isProduction, branch));
}

/** @throws {CliError} for a data folder of another user, whose platform could not read the new files. */
function refuseOtherOwner({ folder, running }: LocalPlatform): void {
  if (!existsSync(folder)) return;
  const { uid } = statSync(folder);
  if (process.getuid === undefined || uid === process.getuid()) return;
  throw new CliError(`${folder} belongs to another user (${uid})`, {
    advice:
      running === null ? 'Start the platform of this folder first, or deploy as that user.' : 'Deploy as that user.',
  });
}

/** Variables that the new deployment will have. */
function variablesFor(
  before: RouteRecord | null,
  branch: string,
  production: boolean,
): Readonly<Record<string, string>> {
  if (before === null) return {};
  const next = {
    id: '',
    artifact: '',
    branch,
    createdAt: '',
    target: production ? ('production' as const) : ('preview' as const),
  };
  return variablesOf({ ...before, deployments: { ...before.deployments, '': next } }, '');
}

interface Checked {
  readonly outcome: string;
  readonly error: string | null;
  readonly lines: readonly { readonly level: string; readonly text: string }[];
}

/**
 * Starts the worker on the platform before publishing. @throws {CliError} with the worker's error, stack and output.
 */
async function checkStart(platform: LocalPlatform, asked: object): Promise<void> {
  if (platform.running?.privateOrigin == null) return;
  const { status, body } = await askPlatform<Checked & { error?: string }>(platform, '/_platform/check', {
    body: asked,
    waitMs: 90_000,
  });
  if (status !== 200)
    throw new CliError(`The platform could not check the worker: ${body.error ?? `HTTP ${status}`}`, {
      advice: 'Try again, or deploy with --force.',
    });
  if (body.outcome === 'ok') return;
  const said = body.lines.map(({ text }) => text);
  throw new CliError('The worker does not start, so nothing was deployed', {
    // The last line is the error with a source-mapped stack.
    frame: said.length === 0 ? (body.error ?? body.outcome) : said.join('\n'),
    advice: "Fix the worker's top-level code (outside of handlers), or publish the worker anyway with --force.",
  });
}
