// Finds the AI gateway of an organization for `platform dev`: by the project that the folder is deployed as, else by
// PLATFORM_DEV_AI_PROJECT_ID, else of the user's only organization. Requires a login or a linked folder; a local
// platform is not used without either.
import { readLogins } from '../account/credentials.ts';
import { findProject, organizationsOf } from '../api/project.ts';
import type { Project } from '../api/records.ts';
import { ask } from '../api/requests.ts';
import { findApi } from '../api/target.ts';
import { findLink } from '../project/link.ts';
import { CliError } from '../terminal/failure.ts';
import type { Shell } from '../terminal/shell.ts';

/** A remote gateway. */
export interface OtherGateway {
  /** Ends with `/ai`. */
  readonly url: string;
  readonly token: string;
  /** Source of the responses, for the output. */
  readonly said: string;
}

const VARIABLE = 'PLATFORM_DEV_AI_PROJECT_ID';
const LOOK_MS = 5000;

/**
 * @param environment the environment with the variables of `.env`. @returns null if there is no gateway. The reason is
 * printed if the user can do something about it.
 * @throws {CliError} if the project in PLATFORM_DEV_AI_PROJECT_ID cannot be used.
 */
export async function findOrganizationAi(
  shell: Shell,
  folder: string,
  environment: Readonly<Record<string, string | undefined>>,
): Promise<OtherGateway | null> {
  const named = environment[VARIABLE]?.trim() ?? '';
  const isLoggedIn = Boolean(shell.env['PLATFORM_API_TOKEN']) || readLogins(shell).current !== null;
  if (named === '' && !isLoggedIn && findLink(folder) === null) return null;
  let timer: NodeJS.Timeout | undefined;
  const late = new Promise<never>((_, reject) => {
    timer = setTimeout(() => reject(new CliError(`The platform did not respond within ${LOOK_MS / 1000} s`)), LOOK_MS);
  });
  try {
    return await Promise.race([find(shell, folder, named), late]);
  } catch (error) {
    if (named !== '')
      throw new CliError(`The AI gateway of ${VARIABLE} cannot be used: ${(error as Error).message}`, {
        advice: `Log in with \`platform login\`, or unset ${VARIABLE}.`,
      });
    shell.err(
      `${shell.paint('yellow', 'warning')} the AI gateway of your organization is not used: ${(error as Error).message}`,
    );
    return null;
  } finally {
    clearTimeout(timer);
  }
}

async function find(shell: Shell, folder: string, named: string): Promise<OtherGateway | null> {
  const api = await findApi(shell, {}, { folder });
  if (api === null) {
    if (named === '') return null;
    throw new CliError('the platform of this machine has no API');
  }
  const project = await findProject(shell, api, {}, { folder });
  const chosen =
    project ?? (named === '' ? null : await ask<Project>(api, 'GET', `/projects/${encodeURIComponent(named)}`));
  const organization = chosen?.organizationId ?? onlyOrganization(shell, await organizationsOf(api));
  if (organization === null) return null;
  const { url, token } = await ask<{ url: string; token: string }>(
    api,
    'POST',
    `/orgs/${encodeURIComponent(organization)}/ai/dev-token`,
  );
  const listed = await fetch(`${url}/models`, { headers: { authorization: `Bearer ${token}` } });
  const { data = [] } = listed.ok ? ((await listed.json()) as { data?: unknown[] }) : {};
  if (data.length === 0) {
    if (named !== '') throw new CliError(`no AI provider is configured on ${api.origin}`);
    return null;
  }
  return { url, token, said: `from ${url}, counted toward your organization` };
}

/** ID of the only organization; null if there are several or none. */
function onlyOrganization(shell: Shell, organizations: readonly { readonly id: string }[]): string | null {
  if (organizations.length > 1)
    shell.err(
      `${shell.paint('yellow', 'warning')} you are a member of several organizations: set ${VARIABLE}=<project id> to choose the AI gateway`,
    );
  return organizations.length === 1 ? organizations[0]!.id : null;
}
