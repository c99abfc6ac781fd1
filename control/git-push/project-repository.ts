// The repository of a project: a project without a repository gets one on this platform. Used by pushes and templates.
import type { Transaction } from '#postgres/sql.ts';
import { newId } from '../records/ids.ts';

/** The fields of a repository that `git push` needs. */
interface ProjectRepository {
  readonly id: string;
  /** `builtin`: on this platform. */
  readonly source: string;
  readonly defaultBranch: string;
}

/** @param onAdd called before a repository is added; may refuse it. */
export async function projectRepository(
  tx: Transaction,
  projectId: string,
  onAdd: () => Promise<void> = () => Promise.resolve(),
): Promise<ProjectRepository> {
  const [project] = await tx<
    { repository_id: string | null; organization_id: string; name: string; default_branch: string }[]
  >`SELECT repository_id, organization_id, name, default_branch FROM control.project WHERE id = ${projectId} FOR UPDATE`;
  const { name, organization_id: organizationId, default_branch: defaultBranch } = project!;
  if (project!.repository_id === null) {
    await onAdd();
    const id = newId('repository');
    await tx`INSERT INTO control.repository (id, organization_id, source, full_name, url, default_branch)
      VALUES (${id}, ${organizationId}, 'builtin', ${name}, ${`/git/${name}.git`}, ${defaultBranch})`;
    await tx`UPDATE control.project SET repository_id = ${id} WHERE id = ${projectId}`;
    return { id, source: 'builtin', defaultBranch };
  }
  const [row] = await tx<{ id: string; source: string; default_branch: string }[]>`
    SELECT id, source, default_branch FROM control.repository WHERE id = ${project!.repository_id}`;
  return { id: row!.id, source: row!.source, defaultBranch: row!.default_branch };
}
