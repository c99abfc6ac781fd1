// What the actor of a request may do: routes ask here before they do anything. An answer of a route that has not asked
// becomes an error (api/app.ts), so that a forgotten question cannot go unnoticed.
import type { Sql } from '#postgres/sql.ts';
import { ApiError } from '../api/errors.ts';
import type { Actor } from './actor.ts';
import { roleMay, scopeMay, type Permission } from './permissions.ts';

/** A project as far as access goes. */
interface Reached {
  readonly organizationId: string;
  readonly projectId: string;
}

/** Access of one request. */
export class Access {
  #sql: Sql;
  #actor: Actor | null;
  #isAsked = false;

  constructor(sql: Sql, actor: Actor | null) {
    this.#sql = sql;
    this.#actor = actor;
  }

  /** Whether the route has asked. */
  get isAsked(): boolean {
    return this.#isAsked;
  }

  /** Declares a route open to everybody. */
  everybody(): void {
    this.#isAsked = true;
  }

  /** The actor. @throws {ApiError} `unauthorized` without one, `forbidden` where a token's scope is too narrow. */
  account(permission: Permission): Actor {
    this.#isAsked = true;
    if (this.#actor === null) throw new ApiError('unauthorized');
    if (!scopeMay(this.#actor.token?.scope ?? null, permission)) throw new ApiError('forbidden', { permission });
    return this.#actor;
  }

  /** The actor, who is an admin of the installation. @throws {ApiError} */
  operator(): Actor {
    const actor = this.account('operator');
    if (!actor.isOperator || actor.token?.organizationId != null || actor.token?.projectId != null)
      throw new ApiError('forbidden', { permission: 'operator' });
    return actor;
  }

  /**
   * The actor, who may do this in an organization.
   *
   * @throws {ApiError} `not_found` where it is not the actor's (whether it exists is nobody else's concern).
   */
  organization(permission: Permission, organizationId: string, projectId: string | null = null): Actor {
    const actor = this.account(permission);
    const role = Object.hasOwn(actor.memberships, organizationId) ? actor.memberships[organizationId]! : null;
    const { token } = actor;
    const isOutside =
      role === null ||
      (token !== null && token.organizationId !== null && token.organizationId !== organizationId) ||
      (token !== null && token.projectId !== null && token.projectId !== projectId);
    if (isOutside) throw new ApiError('not_found');
    if (!roleMay(role, permission)) throw new ApiError('forbidden', { permission });
    return actor;
  }

  /** The project, where the actor may do this. @throws {ApiError} */
  async project(permission: Permission, projectId: string): Promise<Reached & { readonly actor: Actor }> {
    this.account(permission);
    const sql = this.#sql;
    const [row] = await sql<{ organization_id: string }[]>`
      SELECT organization_id FROM control.project WHERE id = ${projectId} AND deleted_at IS NULL`;
    if (row === undefined) throw new ApiError('not_found');
    const actor = this.organization(permission, row.organization_id, projectId);
    return { organizationId: row.organization_id, projectId, actor };
  }

  /** The project of a deployment, where the actor may do this. @throws {ApiError} */
  async deployment(permission: Permission, deploymentId: string): Promise<Reached & { readonly actor: Actor }> {
    this.account(permission);
    const sql = this.#sql;
    const [row] = await sql<{ project_id: string }[]>`
      SELECT project_id FROM control.deployment WHERE id = ${deploymentId}`;
    if (row === undefined) throw new ApiError('not_found');
    return this.project(permission, row.project_id);
  }
}
