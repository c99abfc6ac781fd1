// Chooses the platform of a command: a platform with a control plane through its API, or the local handler without one
// through its data folder. Precedence: flags and variables, link of the folder, local platform.
import { apiFlags, findAccess, openApi, originOf, type Api } from '../account/api.ts';
import { readLogins } from '../account/credentials.ts';
import { findPlatform, localApis } from '../local/local-platform.ts';
import { handlerAddress } from '../local/locations.ts';
import { findLink, type FoundLink } from '../project/link.ts';
import { CliError } from '../terminal/failure.ts';
import type { Shell } from '../terminal/shell.ts';

/** Flags that choose the platform. */
export const platformFlags = {
  ...apiFlags,
  token: {
    type: 'string',
    valueHint: 'token',
    description: 'API token (default: PLATFORM_API_TOKEN, else the login)',
  },
} as const;

/** Values of the flags. */
export interface PlatformFlags {
  readonly api?: string | undefined;
  readonly token?: string | undefined;
}

/** Options of the search for a link. */
export interface WhereToLook {
  /** The folder where the search for a link begins; by default, the current folder. */
  readonly folder?: string;
  readonly isLinkIgnored?: boolean;
}

/** API of the chosen platform; null for a local handler without a control plane. */
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

/** Like {@link findApi}. @throws {CliError} without a control plane. */
export async function needApi(shell: Shell, flags: PlatformFlags, command: string, where?: WhereToLook): Promise<Api> {
  const api = await findApi(shell, flags, where);
  if (api !== null) return api;
  throw new CliError(`\`${command}\` requires a control plane, but the platform on this machine has none`, {
    advice:
      'Start the platform with a database (without DATABASE_URL=none), or choose another platform: --api, PLATFORM_API_URL.',
  });
}

/**
 * The link file may come from an untrusted repository, so a token for another platform is not sent to its URL.
 */
async function openLinked(shell: Shell, link: FoundLink, isTokenNamed: boolean): Promise<Api> {
  const origin = originOf(link.apiUrl);
  const { PLATFORM_API_TOKEN: token, ...others } = shell.env;
  if (isTokenNamed || !token) return openApi(shell, { api: origin });
  const trusted = await findAccess({ ...shell, env: others }, { api: origin }).catch(() => null);
  if (trusted !== null) return openApi(shell, { api: origin });
  throw new CliError(`This folder is linked to ${origin}, but PLATFORM_API_TOKEN may be for another platform`, {
    advice: `Set PLATFORM_API_URL=${origin} too, or remove the link with \`platform unlink\`.`,
  });
}

function withToken(shell: Shell, token: string | undefined): Shell {
  return token === undefined ? shell : { ...shell, env: { ...shell.env, PLATFORM_API_TOKEN: token } };
}
