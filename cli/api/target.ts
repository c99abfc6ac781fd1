// Which platform a command is for: one with a control plane, reached by its API, or the handler of this machine alone,
// whose data folder is written to. What is named goes first, then the link of the folder, then what runs here.
import { apiFlags, findAccess, openApi, originOf, type Api } from '../account/api.ts';
import { readLogins } from '../account/credentials.ts';
import { findPlatform, localApis } from '../local/local-platform.ts';
import { handlerAddress } from '../local/locations.ts';
import { findLink, type FoundLink } from '../project/link.ts';
import { CliError } from '../terminal/failure.ts';
import type { Shell } from '../terminal/shell.ts';

/** Flags that say which platform is meant. */
export const platformFlags = {
  ...apiFlags,
  token: {
    type: 'string',
    valueHint: 'token',
    description: 'Token for the API (default: PLATFORM_API_TOKEN, else the login)',
  },
} as const;

/** Their values. */
export interface PlatformFlags {
  readonly api?: string | undefined;
  readonly token?: string | undefined;
}

/** Where a link is looked for. */
export interface WhereToLook {
  /** Default: where the command is called. */
  readonly folder?: string;
  readonly isLinkIgnored?: boolean;
}

/** The API of the platform that is meant; null: a handler of this machine without a control plane. */
export async function findApi(
  shell: Shell,
  flags: PlatformFlags,
  { folder = shell.cwd, isLinkIgnored = false }: WhereToLook = {},
): Promise<Api | null> {
  const named = flags.api ?? (shell.env['PLATFORM_API_URL'] || undefined);
  const given = withToken(shell, flags.token);
  if (named !== undefined) return openApi(given, { api: named });
  const link = isLinkIgnored ? null : findLink(folder);
  if (link !== null) return openLinked(given, link, flags.token !== undefined);
  if (given.env['PLATFORM_API_TOKEN']) return openApi(given);
  const isMachineFirst = Boolean(shell.env['FS_PATH']) || readLogins(shell).current === null;
  if (!isMachineFirst) return openApi(given);
  const platform = await findPlatform(shell, () => handlerAddress(shell));
  if (platform.running === null) return null;
  const own = (await localApis(shell)).find(({ folder: of }) => of === platform.folder);
  return own === undefined ? null : openApi(given, { api: own.origin });
}

/** As {@link findApi}. @throws {CliError} where there is no control plane. */
export async function needApi(shell: Shell, flags: PlatformFlags, command: string, where?: WhereToLook): Promise<Api> {
  const api = await findApi(shell, flags, where);
  if (api !== null) return api;
  throw new CliError(`\`${command}\` needs a control plane, and the platform on this machine has none`, {
    advice: 'Start it with a database (without DATABASE_URL=none), or name another platform: --api, PLATFORM_API_URL.',
  });
}

/**
 * A link is a file of the folder, which may have come with somebody's repository: a token that is meant for another
 * platform is not sent to its address.
 */
async function openLinked(shell: Shell, link: FoundLink, isTokenNamed: boolean): Promise<Api> {
  const origin = originOf(link.apiUrl);
  const { PLATFORM_API_TOKEN: token, ...others } = shell.env;
  if (isTokenNamed || !token) return openApi(shell, { api: origin });
  const trusted = await findAccess({ ...shell, env: others }, { api: origin }).catch(() => null);
  if (trusted !== null) return openApi(shell, { api: origin });
  throw new CliError(`This folder is linked to ${origin}, and PLATFORM_API_TOKEN does not say that it is for that`, {
    advice: `Set PLATFORM_API_URL=${origin} beside it, or take the link away with \`platform unlink\`.`,
  });
}

function withToken(shell: Shell, token: string | undefined): Shell {
  return token === undefined ? shell : { ...shell, env: { ...shell.env, PLATFORM_API_TOKEN: token } };
}
