// Creates a project of an organization, for the API and for a first `git push` to the platform.
import { isProjectName } from '#core/names.ts';
import { ApiError } from '../http/errors.ts';
import type { Dependencies } from '../process/dependencies.ts';
import { addProject, countProjects } from '../records/projects.ts';
import { takeDataOver } from '../records/stored-projects.ts';
import { touchStorage } from '../storage/follow.ts';
import { isNameReserved } from './adopt-route.ts';
import type { Audit } from './audit-entries.ts';
import { writeRoute } from './project-routes.ts';

/** A project to create. */
type NewProject = Parameters<typeof addProject>[1];

/**
 * Creates a project. If the name is already served, the project takes over that route, if the organization may.
 *
 * @returns its id. @throws {ApiError} `bad_request` for an invalid name, `conflict` for a name that is taken,
 * `limit_reached`.
 */
export async function createProject(deps: Dependencies, given: NewProject, audit: Audit): Promise<string> {
  const { organizationId, name } = given;
  if (!isProjectName(name))
    throw new ApiError('bad_request', {
      reason: 'body.name: must have lower-case letters, digits and single hyphens, at most 40 characters',
    });
  const allowed = deps.limits.projectsMax;
  const projectId = await deps.sql.begin(async (tx) => {
    if ((await countProjects(tx, organizationId)) >= allowed)
      throw new ApiError('limit_reached', { what: 'projects', allowed: `${allowed} (API_PROJECTS_MAX)` });
    const isReserved = await isNameReserved(tx, deps.routes, organizationId, name);
    const id = isReserved ? null : await addProject(tx, given);
    if (id === null) throw new ApiError('conflict', { reason: `The name ${name} is taken` });
    if (!(await takeDataOver(tx, name)))
      throw new ApiError('conflict', {
        reason: `The data of the deleted project ${name} is being removed: try again later`,
      });
    await audit(tx, {
      organizationId,
      projectId: id,
      action: 'project.create',
      subjectKind: 'project',
      subjectId: id,
      details: { name },
    });
    await touchStorage(tx);
    return id;
  });
  await writeRoute(deps, projectId);
  return projectId;
}
