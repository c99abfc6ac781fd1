// The log drain that a word of `platform drains` means.
import type { Api } from '../../account/api.ts';
import type { Drain, Project } from '../../api/records.ts';
import { ask } from '../../api/requests.ts';
import { CliError } from '../../terminal/failure.ts';

/** @example drainsPath(project) // '/projects/prj_1/drains' */
export function drainsPath({ id }: Project): string {
  return `/projects/${encodeURIComponent(id)}/drains`;
}

/** @param word name or id. @throws {CliError} where the project has none such, or several of the name. */
export async function drainOf(api: Api, project: Project, word: string): Promise<Drain> {
  const drains = await ask<readonly Drain[]>(api, 'GET', drainsPath(project));
  const [found, ...others] = drains.filter(({ id, name }) => id === word || name === word);
  if (found !== undefined && others.length === 0) return found;
  const listed = drains.map(({ id, name }) => `${name} (${id})`).join(', ');
  throw new CliError(`${project.name} has ${found === undefined ? 'no' : 'several'} log drains ${word}`, {
    exitCode: 2,
    advice: drains.length === 0 ? 'It has none: `platform drains add --url <url>`.' : `It has ${listed}.`,
  });
}

/** Where it leads, in one word. */
export function targetOf({ target }: Drain): string {
  return target.kind === 's3' ? `s3://${target.bucket}/${target.prefix ?? ''}` : (target.url ?? '');
}
