// Permissions of the actor of a request. The access that a route declares (api/request/needs.ts) is checked before the
// request is read; routes check the rest themselves and get the ids they need. If a route never checks access to its
// subject, middleware.ts replaces its response with an error, so that a missing check is noticed.
import type { Sql } from '#postgres/sql.ts';
import { ApiError } from '../http/errors.ts';
import type { Actor } from './actor.ts';
import { permissions, roleMay, scopeMay, type Permission } from './permissions.ts';

/** The kind of record that an id in a route's path identifies. */
export type Subject = 'organization' | 'project' | 'deployment';

/** The fields of a project that access checks need. */
export interface Reached {
  readonly organizationId: string;
  readonly projectId: string;
  readonly actor: Actor;
}

/** Access checks of one request. */
export class Access {
  #sql: Sql;
  #actor: Actor | null;
  #declared: ReadonlySet<string> | null;
  #isAsked = false;
  /** Organization and project by the id that was checked. */
  #known = new Map<string, { readonly organizationId: string; readonly projectId: string }>();

  /** @param declared permissions that the route declares; null means no restriction. */
  constructor(sql: Sql, actor: Actor | null, declared: readonly string[] | null = null) {
    this.#sql = sql;
    this.#actor = actor;
    this.#declared = declared === null ? null : new Set(declared);
  }

  /** The authenticated actor, or null. */
  get actor(): Actor | null {
    return this.#actor;
  }

  /** Whether access to a subject was checked. */
  get isAsked(): boolean {
    return this.#isAsked;
  }

  /** Marks a route as open to everybody. */
  everybody(): void {
    this.#isAsked = true;
  }

  /** The actor. @throws {ApiError} `unauthorized` without an actor, `forbidden` if the token's scope is too narrow. */
  account(permission: Permission): Actor {
    if (this.#declared?.has(permission) === false)
      throw new Error(`The route checks ${permission}, which it does not declare`);
    if (this.#actor === null) throw new ApiError('unauthorized', {}, { 'www-authenticate': 'Bearer' });
    if (!scopeMay(this.#actor.token?.scope ?? null, permission)) throw new ApiError('forbidden', { permission });
    if (permissions[permission][0] === null) this.#isAsked = true;
    return this.#actor;
  }

  /** The actor, who must be an admin of the installation. @throws {ApiError} */
  operator(): Actor {
    const actor = this.account('operator');
    this.#isAsked = true;
    if (!actor.isOperator || actor.token?.organizationId != null || actor.token?.projectId != null)
      throw new ApiError('forbidden', { permission: 'operator' });
    return actor;
  }

  /** The actor, whose token must not be bound to an organization or project. @throws {ApiError} `forbidden` */
  wholeAccount(permission: Permission): Actor {
    const actor = this.account(permission);
    if (actor.token !== null && (actor.token.organizationId !== null || actor.token.projectId !== null))
      throw new ApiError('forbidden', { permission });
    return actor;
  }

  /**
   * Whether the actor has a permission in an organization or one of its projects. Does not count as an access check.
   */
  may(permission: Permission, organizationId: string, projectId: string | null = null): boolean {
    const role = this.#roleIn(organizationId, projectId);
    const scope = this.#actor?.token?.scope ?? null;
    return role !== null && roleMay(role, permission) && scopeMay(scope, permission);
  }

  /**
   * Returns the actor if it has the permission in the organization.
   *
   * @throws {ApiError} `not_found` if the actor is no member, whether or not the organization exists.
   */
  organization(permission: Permission, organizationId: string, projectId: string | null = null): Actor {
    const actor = this.account(permission);
    this.#isAsked = true;
    const role = this.#roleIn(organizationId, projectId);
    if (role === null) throw new ApiError('not_found');
    if (!roleMay(role, permission)) throw new ApiError('forbidden', { permission });
    return actor;
  }

  /** Returns the project if the actor has the permission. @throws {ApiError} */
  async project(permission: Permission, projectId: string): Promise<Reached> {
    this.account(permission);
    const sql = this.#sql;
    return this.#reach(permission, projectId, async () => {
      const [row] = await sql<{ organization_id: string; project_id: string }[]>`
        SELECT organization_id, id AS project_id FROM control.project WHERE id = ${projectId} AND deleted_at IS NULL`;
      return row;
    });
  }

  /** Returns the project of a deployment if the actor has the permission. @throws {ApiError} */
  async deployment(permission: Permission, deploymentId: string): Promise<Reached> {
    this.account(permission);
    const sql = this.#sql;
    return this.#reach(permission, deploymentId, async () => {
      const [row] = await sql<{ organization_id: string; project_id: string }[]>`
        SELECT project.organization_id, project_id FROM control.deployment
        JOIN control.project ON project.id = project_id
        WHERE deployment.id = ${deploymentId} AND project.deleted_at IS NULL`;
      return row;
    });
  }

  async #reach(
    permission: Permission,
    id: string,
    find: () => Promise<{ readonly organization_id: string; readonly project_id: string } | undefined>,
  ): Promise<Reached> {
    let known = this.#known.get(id);
    if (known === undefined) {
      const row = await find();
      if (row === undefined) throw new ApiError('not_found');
      known = { organizationId: row.organization_id, projectId: row.project_id };
      this.#known.set(id, known);
    }
    const actor = this.organization(permission, known.organizationId, known.projectId);
    return { ...known, actor };
  }

  #roleIn(organizationId: string, projectId: string | null): Actor['memberships'][string] | null {
    if (this.#actor === null) return null;
    const { memberships, token } = this.#actor;
    if (!Object.hasOwn(memberships, organizationId)) return null;
    const isOutside =
      token !== null &&
      ((token.organizationId !== null && token.organizationId !== organizationId) ||
        (token.projectId !== null && token.projectId !== projectId));
    return isOutside ? null : memberships[organizationId]!;
  }
}
