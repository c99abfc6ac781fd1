// Tables whose rows belong to a project, an organization or the operator, described so that the same routes can list,
// create, change and delete them (api/routes/owned-rows.ts).
import type { ControlLimits } from '#core/limits.ts';

/** A table whose rows have an owner. */
export interface OwnedTable {
  /** Subject of audit entries: `drain` for `drain.update`. */
  readonly subject: string;
  readonly table: string;
  /** Primary key. */
  readonly id: 'id' | 'project_id';
  readonly owner: 'organization_id' | 'project_id';
  /** Maximum number per owner, and the name of the rows in an error; null means that the routes limit them. */
  readonly limit: { readonly what: string; readonly of: keyof ControlLimits } | null;
}

/** The owner; without a project and an organization it is the operator. */
export interface Owner {
  readonly organizationId: string | null;
  readonly projectId: string | null;
}
