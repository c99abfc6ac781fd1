// Finds the project and organization of a command: by flag, link, name in platform.yaml, or the folder's Git
// repository.
import { readFileSync } from 'node:fs';
import path from 'node:path';
import { nearestWord } from '#core/spelling.ts';
import { originOf, type Api } from '../account/api.ts';
import { gitConfigFile } from '../project/git-branch.ts';
import { findLink } from '../project/link.ts';
import { loadProject, nameOf } from '../project/project.ts';
import { CliError } from '../terminal/failure.ts';
import type { Shell } from '../terminal/shell.ts';
import { allOf, ask } from './requests.ts';
import type { Organization, Project } from './records.ts';
import { needApi, platformFlags, type PlatformFlags, type WhereToLook } from './target.ts';

/** Flags of commands for one project. */
export const targetFlags = {
  name: {
    type: 'string',
    alias: ['n', 'project'] as string[],
    valueHint: 'name',
    description: 'Project name or ID (default: the linked project, else `name` of platform.yaml, else the folder)',
  },
  config: { type: 'string', alias: 'c', valueHint: 'path', description: 'Configuration file (default: platform.yaml)' },
  org: {
    type: 'string',
    valueHint: 'slug',
    description: 'Organization slug or ID (default: the organization of the project)',
  },
  ...platformFlags,
} as const;

/** Values of the flags. */
export interface TargetFlags extends PlatformFlags {
  readonly name?: string | undefined;
  readonly config?: string | undefined;
  readonly org?: string | undefined;
}

/** The API and the project. @throws {CliError} */
export async function needProject(
  shell: Shell,
  flags: TargetFlags,
  command: string,
): Promise<{ readonly api: Api; readonly project: Project }> {
  const api = await needApi(shell, flags, command);
  return { api, project: await projectOf(shell, api, flags) };
}

/** The project of a command. @throws {CliError} with a list of projects, if there is no such project. */
export async function projectOf(shell: Shell, api: Api, flags: TargetFlags, where: WhereToLook = {}): Promise<Project> {
  const { folder = shell.cwd } = where;
  const project = await findProject(shell, api, flags, where);
  if (project !== null) return project;
  const wanted = flags.name ?? nameOf(loadProject(shell, folder, flags.config ?? null), undefined);
  const names = (await projectsOf(api, flags.org)).map(({ name }) => name);
  const near = nearestWord(wanted, names);
  throw new CliError(
    `There is no project "${wanted}" on ${api.origin}${near === undefined ? '' : `. Did you mean ${near}?`}`,
    {
      advice: `Deploy it with \`platform deploy\`${names.length === 0 ? '' : `, or name one with --name: ${names.slice(0, 20).join(', ')}`}.`,
    },
  );
}

/** Like {@link projectOf}, but returns null if there is no such project. */
export async function findProject(
  shell: Shell,
  api: Api,
  flags: TargetFlags,
  { folder = shell.cwd, isLinkIgnored = false }: WhereToLook = {},
): Promise<Project | null> {
  if (flags.name?.startsWith('prj_') === true)
    return ask<Project>(api, 'GET', `/projects/${encodeURIComponent(flags.name)}`);
  if (flags.name === undefined && !isLinkIgnored) {
    const link = findLink(folder);
    if (link !== null && originOf(link.apiUrl) === api.origin) return linked(api, link.projectId, link.folder);
  }
  const name = flags.name ?? nameOf(loadProject(shell, folder, flags.config ?? null), undefined);
  const projects = await projectsOf(api, flags.org, name);
  const named = projects.find((project) => project.name === name);
  if (named !== undefined || flags.name !== undefined) return named ?? null;
  return byRepository(api, folder, flags.org);
}

async function linked(api: Api, id: string, folder: string): Promise<Project> {
  try {
    return await ask<Project>(api, 'GET', `/projects/${encodeURIComponent(id)}`);
  } catch (error) {
    if (!(error instanceof CliError) || error.code !== 'not_found') throw error;
    throw new CliError(`The project linked to ${folder} was deleted, or you do not have access`, {
      advice: 'Link another project with `platform link <project>`, or run `platform unlink`.',
    });
  }
}

/** Projects of an organization, or of all the user's organizations. @param search part of the name. */
export async function projectsOf(api: Api, org?: string, search?: string): Promise<Project[]> {
  const organizations = org === undefined ? await organizationsOf(api) : [await organizationOf(api, org)];
  const found = await Promise.all(
    organizations.map(({ id }) =>
      allOf<Project>(api, `/orgs/${encodeURIComponent(id)}/projects`, { search, limit: 100 }),
    ),
  );
  return found.flat();
}

export async function organizationsOf(api: Api): Promise<Organization[]> {
  return allOf<Organization>(api, '/orgs', { limit: 100 });
}

/** The organization of a command: the given organization, or the only one. @throws {CliError} */
export async function organizationOf(api: Api, named: string | undefined): Promise<Organization> {
  const organizations = await organizationsOf(api);
  const listed = organizations.map(({ slug }) => slug).join(', ');
  if (named !== undefined) {
    const found = organizations.find(({ id, slug, name }) => id === named || slug === named || name === named);
    if (found !== undefined) return found;
    throw new CliError(`You are not a member of any organization named "${named}"`, {
      exitCode: 2,
      advice:
        organizations.length === 0 ? 'You are not a member of any organization.' : `Your organizations: ${listed}.`,
    });
  }
  const [only, ...others] = organizations;
  if (only === undefined)
    throw new CliError('You are not a member of any organization', {
      advice: 'Create an organization with `platform org create <name>`, or ask an owner to invite you.',
    });
  if (others.length > 0)
    throw new CliError(`You are a member of ${organizations.length} organizations: choose one`, {
      exitCode: 2,
      advice: `--org <slug>: ${listed}.`,
    });
  return only;
}

/** The only project with the folder's repository. */
async function byRepository(api: Api, folder: string, org: string | undefined): Promise<Project | null> {
  const remotes = remotesOf(folder);
  if (remotes.length === 0) return null;
  const projects = (await projectsOf(api, org)).filter(({ repositoryId }) => repositoryId !== null);
  const organizations = [...new Set(projects.map(({ organizationId }) => organizationId))];
  const repositories = await Promise.all(
    organizations.map(async (organizationId) => {
      const answer = await ask<{ repositories: readonly Repository[] }>(api, 'GET', '/repositories', {
        query: { organizationId },
      });
      return answer.repositories;
    }),
  );
  const own = repositories.flat().filter(({ fullName }) => remotes.some((remote) => isSame(fullName, remote)));
  const fitting = projects.filter(({ repositoryId }) => own.some(({ id }) => id === repositoryId));
  return fitting.length === 1 ? fitting[0]! : null;
}

interface Repository {
  readonly id: string;
  /** `owner/name`, or the URL of a remote. */
  readonly fullName: string;
}

function isSame(fullName: string, remote: string): boolean {
  const bare = fullName.replace(/\.git$/, '');
  return bare === remote || bare.endsWith(`/${remote}`);
}

/** `owner/name` of the folder's remotes. */
function remotesOf(folder: string): string[] {
  const file = gitConfigFile(folder);
  if (file === null) return [];
  const text = readFileSync(path.resolve(file), 'utf8');
  const urls = [...text.matchAll(/^\s*url\s*=\s*(\S+)\s*$/gm)].map(([, url]) => url!);
  return [...new Set(urls.flatMap((url) => /[/:]([^/:\s]+\/[^/\s]+?)(?:\.git)?\/?$/.exec(url)?.[1] ?? []))];
}
