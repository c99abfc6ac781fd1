// `platform deploy [dir]`: builds a project and publishes it to the platform that runs on this machine, once its worker
// has started there.
import path from 'node:path';
import { defineCommand } from 'citty';
import { limitsFrom } from '#core/limits.ts';
import type { RouteRecord } from '#core/manifest.ts';
import { variablesOf } from '#core/preview.ts';
import { chooseProjects, choiceFlags } from '../project/choose-projects.ts';
import { CliError } from '../terminal/failure.ts';
import { askPlatform, findPlatform, inWords, type LocalPlatform } from '../local/local-platform.ts';
import { handlerAddress } from '../local/locations.ts';
import { buildOutput, buildProject, loadProject } from '../project/project.ts';
import { checkProjectName, publish } from '#deployments/publish.ts';
import { readRoute } from '#deployments/route-records.ts';
import { untilRouted } from '../local/served.ts';
import type { Shell } from '../terminal/shell.ts';
import { branchOf, folderOf, nameOf, projectFlags, urlsOf } from '../project/target.ts';
import { readVariableFile, readVariables } from '../project/variables.ts';
import { describe } from './build.ts';

export const command = defineCommand({
  meta: { name: 'deploy', description: 'Build and publish to the platform on this machine' },
  args: {
    dir: { type: 'positional', required: false, description: 'Folder of the project (default: the current one)' },
    ...projectFlags,
    ...choiceFlags,
    branch: {
      type: 'string',
      alias: 'b',
      valueHint: 'name',
      description: "Branch to deploy as (default: Git's current one; outside Git: main)",
    },
    prod: { type: 'boolean', description: 'Make it production (a deployment of the default branch always is)' },
    'env-file': {
      type: 'string',
      valueHint: 'path',
      description: 'Replace the variables of what it becomes by those of this file: of production, or of the branch',
    },
    force: { type: 'boolean', description: 'Publish it also when its worker does not start' },
    json: { type: 'boolean', description: 'Print JSON' },
  },
  async run({ args, data }) {
    const shell = data as Shell;
    const folders = chooseProjects('platform deploy', { ...args, folder: folderOf(shell, args.dir) }, true);
    if (folders.length > 1 && args.name !== undefined)
      throw new CliError('--name names one project, --all means several', {
        exitCode: 2,
        advice: 'Give each a `name` in its platform.yaml.',
      });
    for (const folder of folders) await deployOne(shell, folder, args);
  },
});

/** The flags of `platform deploy`. */
interface DeployFlags {
  readonly name?: string | undefined;
  readonly config?: string | undefined;
  readonly branch?: string | undefined;
  readonly prod?: boolean | undefined;
  readonly 'env-file'?: string | undefined;
  readonly force?: boolean | undefined;
  readonly json?: boolean | undefined;
}

async function deployOne(shell: Shell, folder: string, args: DeployFlags): Promise<void> {
  const project = loadProject(shell, folder, args.config ?? null);
  const name = nameOf(project, args.name);
  checkProjectName(name);
  const vars = args['env-file'] === undefined ? null : variablesIn(path.resolve(shell.cwd, args['env-file']));
  const platform = await findPlatform(shell, () => handlerAddress(shell));
  const before = readRoute(platform.folder, name);
  const { branch, isDefault } = branchOf(project.folder, args.branch, before);
  const production = args.prod === true || isDefault;
  if (platform.running !== null && !args.json)
    shell.out(
      shell.paint('dim', `Deploying to the platform on ${inWords({ ...platform, pid: platform.running.pid })}`),
    );
  const built = await buildProject(project, path.join(platform.folder, 'artifacts'), {
    ...buildOutput(shell),
    keepsFreeBytes: limitsFrom(shell.env).diskFreeBytesMin,
  });
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
  else
    shell.err(
      `No platform of yours is known to run on ${platform.folder}: it is served by the one that is started there.`,
    );
  if (route.production === null)
    shell.out(`${name} has no production yet: \`platform deploy --prod\`, or \`platform promote ${deployment.id}\``);
  if (unset.length > 0)
    shell.err(unsetAdvice(shell, unset, isProduction ? 'production' : `previews of ${branch}`, isProduction, branch));
}

/** What of `.env` the deployment does not have: variables are set on the platform, not taken along. */
function unsetAdvice(
  shell: Shell,
  unset: readonly string[],
  what: string,
  isProduction: boolean,
  branch: string,
): string {
  const names = unset.length > 5 ? `${unset.slice(0, 5).join(', ')} and ${unset.length - 5} more` : unset.join(', ');
  const flag = isProduction ? '' : ` --branch ${branch}`;
  return shell.paint(
    'yellow',
    `In .env, and not set for ${what}: ${names}. Set them with \`platform env set ${unset[0]}${flag}\`, or all with \`platform deploy --env-file .env\``,
  );
}

function variablesIn(file: string): Record<string, string> {
  const variables = readVariableFile(file);
  if (variables === null)
    throw new CliError(`There is no file ${file}`, {
      exitCode: 2,
      advice: '--env-file names a file of NAME=value lines.',
    });
  return variables;
}

/** The variables that a deployment which is to be made will have. */
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
 * Starts the worker on the platform before anything is published. @throws {CliError} with its error, its stack and what
 * it wrote.
 */
async function checkStart(platform: LocalPlatform, asked: object): Promise<void> {
  if (platform.running?.privateOrigin == null) return;
  const { status, body } = await askPlatform<Checked & { error?: string }>(platform, '/_platform/check', {
    body: asked,
    waitMs: 90_000,
  });
  if (status !== 200)
    throw new CliError(`The platform cannot try the worker: ${body.error ?? `HTTP ${status}`}`, {
      advice: 'Try again, or deploy with --force.',
    });
  if (body.outcome === 'ok') return;
  const said = body.lines.map(({ text }) => text);
  throw new CliError('The worker does not start: nothing was deployed', {
    // Its last line is the error, with a stack of the sources.
    frame: said.length === 0 ? (body.error ?? body.outcome) : said.join('\n'),
    advice: 'Mend its top level (what runs outside of handlers), or publish it as it is with --force.',
  });
}
