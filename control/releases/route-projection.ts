// Builds a project's route record from its rows. Called by project-routes.ts. Pure: the same rows give the same text,
// so an unchanged record is not rewritten.
import type { EncryptionKeys } from '#core/encryption.ts';
import type { DeploymentRecord, RouteRecord } from '#core/manifest.ts';
import type { Plan } from '#core/plans.ts';
import { previewOf, variablesOf } from '#core/preview.ts';
import type { ReleaseSettings } from '#core/release-settings.ts';
import { scopedVariables, unsealFrozen, withAi, type VariableRow } from './frozen-variables.ts';

/** The rows of a project. */
export interface ProjectRows {
  readonly project: ProjectRow;
  readonly branches: readonly { readonly name: string; readonly deployment_id: string | null }[];
  /** Retained deployments, in order of creation. */
  readonly deployments: readonly DeploymentRow[];
  readonly variables: readonly VariableRow[];
  /** Verified domains, ordered by name. */
  readonly domains: readonly {
    readonly hostname: string;
    readonly branch: string | null;
    readonly redirect_to: string | null;
  }[];
}

/** A row of `control.project`, with its organization's plan. */
export interface ProjectRow {
  readonly id: string;
  readonly organization_id: string;
  readonly is_first: boolean;
  readonly name: string;
  readonly plan: Plan;
  readonly settings: ProjectSettings;
  readonly production_deployment_id: string | null;
  readonly production_history: readonly string[];
  readonly split: { readonly deploymentId: string; readonly percent: number } | null;
  readonly route_version: number;
  readonly routed_version: number;
  readonly deleted_at: Date | null;
}

/** Project settings that affect releases. */
export interface ProjectSettings {
  /** Redeploy automatically after a change of variables. */
  readonly redeployOnVariables?: boolean;
  /** Number of deployments whose artifacts are kept, in addition to those that a URL or a rollback needs. */
  readonly keepDeployments?: number;
  /** Steps of releases to production; platform.yaml overrides it. */
  readonly release?: ReleaseSettings;
  /** Hash of the preview password (core/preview-access.ts), and of the token that bypasses it. */
  readonly previewPassword?: string;
  readonly previewBypassHash?: string;
}

/** A row of `control.deployment`. */
export interface DeploymentRow {
  readonly id: string;
  readonly artifact: string;
  readonly branch: string;
  readonly target: 'production' | 'preview';
  readonly created_at: Date;
  readonly superseded_at: Date | null;
  readonly variables: Uint8Array | null;
}

/**
 * The route record for handlers.
 *
 * @param api `PUBLIC_API_URL`, where the AI gateway is.
 * @throws {Error} if a value cannot be decrypted.
 */
export function toRouteRecord(keys: EncryptionKeys, rows: ProjectRows, api: string): RouteRecord {
  const { project } = rows;
  const scoped = scopedVariables(keys, rows.variables);
  const known = new Set(rows.deployments.map(({ id }) => id));
  const isKnown = (id: string | null): id is string => id !== null && known.has(id);
  const production = isKnown(project.production_deployment_id) ? project.production_deployment_id : null;
  const split = project.split !== null && isKnown(project.split.deploymentId) ? project.split : null;
  const history = project.production_history.filter((id) => isKnown(id) && id !== production);
  const bare: RouteRecord = {
    version: 1,
    project: project.name,
    plan: project.plan,
    vars: scoped.production,
    ...(isNotEmpty(scoped.preview) && { previewVars: scoped.preview }),
    ...(isNotEmpty(scoped.branches) && { branchVars: scoped.branches }),
    ...hostsOf(rows.domains),
    production,
    ...(split !== null && { split: { deployment: split.deploymentId, percent: split.percent } }),
    ...protectionOf(project.settings),
    ...(history.length > 0 && { productionHistory: history }),
    branches: Object.fromEntries(
      rows.branches
        .flatMap(({ name, deployment_id: id }): [string, string][] => (isKnown(id) ? [[name, id]] : []))
        .sort(([a], [b]) => (a < b ? -1 : 1)),
    ),
    deployments: Object.fromEntries(
      rows.deployments.map((row): [string, DeploymentRecord] => [
        row.id,
        {
          id: row.id,
          artifact: row.artifact,
          branch: row.branch,
          createdAt: row.created_at.toISOString(),
          // The deployment receives a share of production's requests, so it uses production's resources.
          target: split?.deploymentId === row.id ? 'production' : row.target,
          ...(row.superseded_at !== null && { supersededAt: row.superseded_at.toISOString() }),
        },
      ]),
    ),
  };
  const deployments = { ...bare.deployments };
  for (const { id, variables } of rows.deployments) {
    const frozen = unsealFrozen(keys, id, variables);
    const usual = variablesOf(bare, id);
    const own = withAi((previewOf(bare, id) === null ? frozen.production : frozen.preview) ?? usual, frozen, api);
    if (!isSame(own, usual)) deployments[id] = { ...deployments[id]!, vars: own };
  }
  return { ...bare, owner: { organization: project.organization_id, project: project.id }, deployments };
}

function hostsOf(domains: ProjectRows['domains']): Pick<RouteRecord, 'domains' | 'branchDomains' | 'redirects'> {
  const own: string[] = [];
  const branchDomains: Record<string, string> = {};
  const redirects: Record<string, string> = {};
  for (const { hostname, branch, redirect_to: target } of domains) {
    if (target !== null) redirects[hostname] = target;
    else if (branch !== null) branchDomains[hostname] = branch;
    else own.push(hostname);
  }
  return {
    domains: own,
    ...(isNotEmpty(branchDomains) && { branchDomains }),
    ...(isNotEmpty(redirects) && { redirects }),
  };
}

function protectionOf({ previewPassword, previewBypassHash }: ProjectSettings): Pick<RouteRecord, 'protection'> {
  if (previewPassword === undefined) return {};
  const bypass = previewBypassHash === undefined ? {} : { bypassHash: previewBypassHash };
  return { protection: { passwordHash: previewPassword, ...bypass } };
}

function isNotEmpty(values: object): boolean {
  return Object.keys(values).length > 0;
}

function isSame(one: Readonly<Record<string, string>>, other: Readonly<Record<string, string>>): boolean {
  const keys = Object.keys(one);
  return (
    keys.length === Object.keys(other).length &&
    keys.every((key) => Object.hasOwn(other, key) && one[key] === other[key])
  );
}
