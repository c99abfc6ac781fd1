// Finds a log drain by name or ID. For `platform drains`.
import type { Api } from '../../account/api.ts';
import type { Drain, Project } from '../../api/records.ts';
import { ask } from '../../api/requests.ts';
import { CliError } from '../../terminal/failure.ts';

/** @example drainsPath(project) // '/projects/prj_1/drains' */
export function drainsPath({ id }: Project): string {
  return `/projects/${encodeURIComponent(id)}/drains`;
}

/** @param word name or ID. @throws {CliError} if not found or ambiguous. */
export async function drainOf(api: Api, project: Project, word: string): Promise<Drain> {
  const drains = await ask<readonly Drain[]>(api, 'GET', drainsPath(project));
  const [found, ...others] = drains.filter(({ id, name }) => id === word || name === word);
  if (found !== undefined && others.length === 0) return found;
  const listed = drains.map(({ id, name }) => `${name} (${id})`).join(', ');
  throw new CliError(`${project.name} has ${found === undefined ? 'no' : 'several'} log drains named ${word}`, {
    exitCode: 2,
    advice: drains.length === 0 ? 'Add a log drain with `platform drains add --url <url>`.' : `Drains: ${listed}.`,
  });
}

/** URL of the target. */
export function targetOf({ target }: Drain): string {
  return target.kind === 's3' ? `s3://${target.bucket}/${target.prefix ?? ''}` : (target.url ?? '');
}
