// `platform open`: opens the project in the browser, or prints its URL.
import { defineCommand } from 'citty';
import { hasBrowser, openPage } from '../account/browser.ts';
import { deploymentOf, urlsOf } from '../api/deployment-text.ts';
import { projectOf, targetFlags, type TargetFlags } from '../api/project.ts';
import { findApi } from '../api/target.ts';
import { findDeployed, urlsOf as urlsOfRoute } from '../project/target.ts';
import { CliError } from '../terminal/failure.ts';
import type { Shell } from '../terminal/shell.ts';
import { print } from '../terminal/table.ts';

export const command = defineCommand({
  meta: { name: 'open', description: 'Open this project in the browser' },
  args: {
    deployment: { type: 'positional', required: false, description: 'ID or branch (default: production)' },
    ...targetFlags,
    print: { type: 'boolean', description: 'Print the URL instead of opening it' },
    json: { type: 'boolean', description: 'Print JSON' },
  },
  async run({ args, data }) {
    const shell = data as Shell;
    const url = await urlOf(shell, args);
    if (!/^https?:\/\//.test(url)) throw new CliError(`${url} is not an http URL`);
    print(shell, args.json, { url }, () => shell.out(shell.paint('cyan', url)));
    if (args.print !== true && args.json !== true && shell.isTerminal && hasBrowser(shell)) openPage(shell, url);
  },
});

async function urlOf(shell: Shell, flags: TargetFlags & { deployment?: string | undefined }): Promise<string> {
  const api = await findApi(shell, flags);
  if (api === null) {
    const { platform, route } = await findDeployed(shell, flags);
    const word = flags.deployment ?? route.production;
    const id = word === null ? undefined : (route.branches[word] ?? word);
    if (id === undefined || route.deployments[id] === undefined) throw nothing(route.project, flags.deployment);
    return urlsOfRoute(platform, route, id)[0]!;
  }
  const project = await projectOf(shell, api, flags);
  const word = flags.deployment ?? project.productionDeploymentId;
  if (word === null) throw nothing(project.name, undefined);
  const [url] = urlsOf(await deploymentOf(api, project, word));
  if (url === undefined) throw nothing(project.name, flags.deployment);
  return url;
}

function nothing(project: string, word: string | undefined): CliError {
  return new CliError(
    word === undefined ? `${project} has no production yet` : `${project} has no deployment "${word}"`,
    {
      advice: '`platform deployments` lists the deployments.',
    },
  );
}
