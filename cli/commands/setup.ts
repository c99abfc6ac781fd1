// `platform setup`: shows the steps of the first setup and offers those that need no secret, or applies a file. For
// operators.
import { readFileSync } from 'node:fs';
import path from 'node:path';
import { defineCommand } from 'citty';
import { formatProblem } from '#core/problem.ts';
import type { Api } from '../account/api.ts';
import { statusText, urlsOf } from '../api/deployment-text.ts';
import { followDeployment } from '../api/follow.ts';
import { ask } from '../api/requests.ts';
import { needApi, platformFlags } from '../api/target.ts';
import { parseSetupFile, type SetupFile } from '../project/setup-file.ts';
import { CliError } from '../terminal/failure.ts';
import { plain } from '../terminal/plain.ts';
import type { Shell, Style } from '../terminal/shell.ts';
import { print } from '../terminal/table.ts';

interface Step {
  readonly name: string;
  readonly state: 'done' | 'open' | 'skipped';
  readonly message: string;
  readonly advice: string | null;
}

interface Setup {
  readonly isFinished: boolean;
  readonly steps: readonly Step[];
}

const FILE_BYTES_MAX = 64 * 1024;
const NAMES_TRIED_MAX = 20;
const EXAMPLE = 'static';
const styles: Readonly<Record<Step['state'], Style>> = { done: 'green', open: 'yellow', skipped: 'dim' };

export const command = defineCommand({
  meta: { name: 'setup', description: 'Set up the platform: show the steps, or apply a file' },
  args: {
    file: { type: 'string', valueHint: 'file', description: 'YAML file with the settings' },
    ...platformFlags,
    json: { type: 'boolean', description: 'Print JSON' },
  },
  async run({ args, data }) {
    const shell = data as Shell;
    const wanted = args.file === undefined ? null : readFile(shell, args.file);
    const api = await needApi(shell, args, 'platform setup');
    const before = await readSetup(api);
    if (wanted !== null) await apply(shell, api, wanted, before);
    else if (args.json !== true) await offer(shell, api, before);
    const after = await readSetup(api);
    print(shell, args.json, after, () => {
      if (wanted !== null) show(shell, after);
    });
  },
});

const readSetup = (api: Api): Promise<Setup> => ask<Setup>(api, 'GET', '/operator/setup');

function show(shell: Shell, { steps }: Setup): void {
  for (const { name, state, message, advice } of steps) {
    shell.out(`${shell.paint(styles[state], state.padEnd(7))}  ${name.padEnd(11)}  ${plain(message)}`);
    if (advice !== null && state === 'open') shell.out(`${' '.repeat(22)}${shell.paint('dim', plain(advice))}`);
  }
}

/** @throws {CliError} with the position of each problem. */
function readFile(shell: Shell, name: string): SetupFile {
  let text: string;
  try {
    text = readFileSync(path.resolve(shell.cwd, name), 'utf8');
  } catch (error) {
    const { code = 'unknown' } = error as NodeJS.ErrnoException;
    throw new CliError(`${name} cannot be read: ${code}`, {
      exitCode: 2,
      advice: 'Pass a YAML file, or /dev/stdin.',
    });
  }
  if (text.length > FILE_BYTES_MAX)
    throw new CliError(`${name} is larger than ${FILE_BYTES_MAX} bytes`, {
      exitCode: 2,
      advice: 'The keys of the file are in docs/install.md.',
    });
  const { setup, problems } = parseSetupFile(text, name);
  if (setup !== null) return setup;
  throw new CliError(problems.map(formatProblem).join('\n'), { exitCode: 2, advice: 'Nothing was changed.' });
}

/** Asks only for the steps that need no secret, because typed text is visible here. */
async function offer(shell: Shell, api: Api, setup: Setup): Promise<void> {
  show(shell, setup);
  const { dashboard } = await ask<{ dashboard: string }>(api, 'GET', '/addresses');
  shell.out(plain(`Passwords and mail servers are entered at ${dashboard}/setup, or with --file.`));
  const isOpen = (name: string): boolean => setup.steps.some((step) => step.name === name && step.state === 'open');
  const agreed = async (question: string): Promise<boolean> =>
    /^y(?:es)?$/i.test(((await shell.ask(`${question} [y/N] `)) ?? '').trim());
  if (isOpen('invitations') && (await agreed('Create an invitation link?'))) {
    const { url } = await ask<{ url: string }>(api, 'POST', `/orgs/${await organizationOf(api)}/invitations`, {
      body: { role: 'member' },
    });
    shell.out(plain(url));
  }
  if (isOpen('ai') && (await agreed('Answer AI requests with the mock provider?')))
    await setAi(api, { name: 'mock', kind: 'mock' });
  if (isOpen('example') && (await agreed('Deploy an example?'))) await deployExample(shell, api, EXAMPLE);
}

/** Applies a file, in the order of the steps. Completed steps are not changed. */
async function apply(shell: Shell, api: Api, wanted: SetupFile, { steps }: Setup): Promise<void> {
  const { account, settings, test_mail: testMail, ai, invitations = [], example, skip = [], finish } = wanted;
  const isDone = (name: string): boolean => steps.some((step) => step.name === name && step.state === 'done');
  const tell = (what: string): void => shell.err(plain(`${shell.paint('green', 'Done')} ${what}`));
  if (account !== undefined && !isDone('account')) {
    await ask(api, 'POST', '/operator/setup/account', { body: account });
    tell(`account ${account.username}`);
  }
  if (settings !== undefined) {
    await ask(api, 'PATCH', '/operator/settings', { body: settings });
    tell(`settings ${Object.keys(settings).join(', ')}`);
  }
  if (testMail !== undefined) {
    await ask(api, 'POST', '/operator/mail/test', { body: { to: testMail } });
    tell(`test email to ${testMail}`);
  }
  if (ai !== undefined) {
    await setAi(api, ai);
    tell(`AI provider ${ai.name}`);
  }
  if (invitations.length > 0) await invite(api, invitations, tell);
  if (example !== undefined && !isDone('example')) await deployExample(shell, api, example);
  for (const step of skip) await ask(api, 'POST', `/operator/setup/steps/${step}`, { body: { isSkipped: true } });
  if (finish === true) await ask(api, 'POST', '/operator/setup/finish');
}

async function organizationOf(api: Api): Promise<string> {
  const { organizations } = await ask<{ organizations: readonly { readonly id: string }[] }>(api, 'GET', '/user');
  const [first] = organizations;
  if (first === undefined)
    throw new CliError('You have no organization', { advice: 'Create an organization: `platform org create <name>`.' });
  return first.id;
}

async function setAi(api: Api, { name, ...provider }: NonNullable<SetupFile['ai']>): Promise<void> {
  await ask(api, 'PUT', `/orgs/${await organizationOf(api)}/ai/providers/${name}`, { body: { url: '', ...provider } });
}

/** Invites people, except those who already have an invitation. */
async function invite(
  api: Api,
  invitations: NonNullable<SetupFile['invitations']>,
  tell: (what: string) => void,
): Promise<void> {
  const at = `/orgs/${await organizationOf(api)}/invitations`;
  const { items } = await ask<{ items: readonly { readonly email: string | null }[] }>(api, 'GET', at);
  for (const { email, role } of invitations) {
    if (items.some((one) => one.email === email)) continue;
    await ask(api, 'POST', at, { body: { email, role } });
    tell(`invitation to ${email}`);
  }
}

/** Deploys a template as a project with the template's name, followed by a number if the name is taken. */
async function deployExample(shell: Shell, api: Api, template: string): Promise<void> {
  const project = await createProject(api, template, await organizationOf(api));
  const { deploymentId } = await ask<{ deploymentId: string }>(api, 'POST', `/projects/${project}/template`, {
    body: { template },
  });
  const deployment = await followDeployment(shell, api, deploymentId, { onLine: null });
  if (deployment.status !== 'success')
    throw new CliError(`The example was not deployed: ${statusText(deployment)}`, {
      advice: `\`platform deployments logs ${deploymentId}\` shows why.`,
    });
  shell.out(plain(urlsOf(deployment)[0] ?? ''));
}

async function createProject(api: Api, template: string, organizationId: string): Promise<string> {
  for (let count = 1; ; count++) {
    const name = count === 1 ? template : `${template}-${count}`;
    try {
      return (await ask<{ id: string }>(api, 'POST', '/projects', { body: { name, organizationId } })).id;
    } catch (error) {
      const isTaken = error instanceof CliError && error.code === 'conflict';
      if (!isTaken || count === NAMES_TRIED_MAX) throw error;
    }
  }
}
