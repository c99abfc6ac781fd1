// The hosts of one project and their routes, from its record. Pure; route-table.ts combines the hosts of all projects.
import type { RouteOwner, RouteProtection, RouteRecord } from '#core/manifest.ts';
import { branchSlug } from '#core/names.ts';
import type { Plan } from '#core/plans.ts';
import { previewOf, variablesOf } from '#core/preview.ts';

/**
 * Target of a host. One object serves all hosts of a deployment, and stays the same while its content does not change.
 */
export interface Route {
  readonly project: string;
  /** Deployment id. */
  readonly deployment: string;
  /** Artifact id. */
  readonly artifact: string;
  readonly plan: Plan;
  readonly vars: Readonly<Record<string, string>>;
  readonly branch: string;
  /** Slug of the branch whose resources the deployment uses; null means production's resources. */
  readonly preview: string | null;
  /** Owner of the project, if there is a control plane. */
  readonly owner?: RouteOwner;
}

/** The gate of a host: for previews, for production while it is split, or for a redirect. */
interface Gate {
  readonly project: string;
  /** Whether search engines are told not to index the host. */
  readonly isPreview: boolean;
  readonly protection: RouteProtection | null;
  /** Another deployment that serves a percentage of the visitors. */
  readonly split: { readonly route: Route; readonly percent: number } | null;
  /** The host to which visitors are redirected. */
  readonly redirectTo: string | null;
}

/** A deployment whose pages may still be open on a host that another deployment serves now. */
export interface Other {
  readonly route: Route;
  /** When the deployment was replaced, in milliseconds; Infinity if it is also live, because production is split. */
  readonly supersededAt: number;
}

/** The route match of a host; the gate is null if the host has none. */
export interface RouteMatch {
  readonly route: Route;
  readonly gate: Gate | null;
  /** Former deployments of the host, latest first; null if the host always serves the same deployment. */
  readonly others: readonly Other[] | null;
}

/** Maximum number of former deployments of a host. */
const OTHERS_MAX = 20;

/** What a record contains. */
interface ProjectRoutes {
  readonly routes: readonly Route[];
  readonly production: Route | null;
  /** The hosts on the platform's own domains, which are reserved for the project. */
  readonly hosts: ReadonlyMap<string, RouteMatch>;
  /** The custom hosts with their routes; another project may claim the same host. */
  readonly custom: readonly (readonly [host: string, to: RouteMatch])[];
}

/**
 * @param domains the platform's own domains. @param before the previous routes of the project; unchanged routes stay
 * the same objects.
 */
export function projectRoutes(
  record: RouteRecord,
  domains: readonly string[],
  before: readonly Route[] = [],
): ProjectRoutes {
  const { project, plan } = record;
  const earlier = new Map(before.map((one) => [one.deployment, one]));
  const routes = new Map<string, Route>();
  const hosts = new Map<string, RouteMatch>();
  const custom: (readonly [string, RouteMatch])[] = [];
  const route = (id: string | null | undefined): Route | null => {
    const deployment = id === null || id === undefined ? undefined : record.deployments[id];
    if (deployment === undefined) return null;
    const known = routes.get(deployment.id);
    if (known !== undefined) return known;
    const made: Route = {
      project,
      deployment: deployment.id,
      artifact: deployment.artifact,
      plan,
      vars: variablesOf(record, deployment.id),
      branch: deployment.branch,
      preview: previewOf(record, deployment.id),
      ...(record.owner === undefined ? {} : { owner: record.owner }),
    };
    const same = earlier.get(made.deployment);
    const kept = same !== undefined && JSON.stringify(same) === JSON.stringify(made) ? same : made;
    routes.set(deployment.id, kept);
    return kept;
  };
  const production = route(record.production);
  const ofPreviews: Gate = {
    project,
    isPreview: true,
    protection: record.protection ?? null,
    split: null,
    redirectTo: null,
  };
  const other = record.split == null ? null : route(record.split.deployment);
  // Visitors of production never reach the data of a preview.
  const isSplit = other !== null && other !== production && other.preview === null;
  const split = isSplit ? { route: other, percent: record.split!.percent } : null;
  const open = { project, isPreview: false, protection: null };
  const gate: Gate | null = split === null ? null : { ...open, split, redirectTo: null };
  const othersOf = (to: Route): Other[] => {
    // Production's host never leads to a preview, and in particular not to a protected one.
    const ids =
      to === production
        ? (record.productionHistory ?? [])
        : Object.keys(record.deployments).filter((id) => record.deployments[id]!.branch === to.branch);
    const live = to === production && isSplit ? [to, other] : [];
    const before = ids.flatMap((id): Other[] => {
      const supersededAt = record.deployments[id]?.supersededAt;
      if (supersededAt === undefined || id === to.deployment || id === live[1]?.deployment) return [];
      const one = route(id)!;
      return one.preview === to.preview ? [{ route: one, supersededAt: Date.parse(supersededAt) }] : [];
    });
    const sorted = before.toSorted((a, b) => b.supersededAt - a.supersededAt).slice(0, OTHERS_MAX);
    return [...live.map((one) => ({ route: one, supersededAt: Infinity })), ...sorted];
  };
  const own: RouteMatch | null = production === null ? null : { route: production, gate, others: othersOf(production) };
  const matchOf = (to: Route): RouteMatch =>
    to === production ? own! : { route: to, gate: ofPreviews, others: othersOf(to) };
  const add = (label: string, to: RouteMatch | null): void => {
    if (to !== null) for (const domain of domains) hosts.set(`${label}.${domain}`, to);
  };
  const claim = (host: string, to: RouteMatch | null): void => {
    if (to !== null) custom.push([host, to]);
  };
  for (const id of Object.keys(record.deployments)) {
    const to = route(id)!;
    add(`${project}--${id}`, { route: to, gate: to === production ? null : ofPreviews, others: null });
  }
  for (const [branch, id] of Object.entries(record.branches)) {
    const to = route(id);
    // The route of production, not of the deployment that serves a share of its visitors.
    const match = to === null ? null : matchOf(to);
    add(`${project}--${branchSlug(branch, project)}`, match === own && own !== null ? { ...own, gate: null } : match);
  }
  add(project, own);
  for (const host of record.domains) claim(host, own);
  for (const [host, branch] of Object.entries(record.branchDomains ?? {})) {
    const to = route(Object.hasOwn(record.branches, branch) ? record.branches[branch] : null);
    claim(host, to === null ? null : matchOf(to));
  }
  for (const [host, redirectTo] of Object.entries(record.redirects ?? {})) {
    // A redirect needs no worker, so any deployment can be used.
    const to = production ?? route(Object.keys(record.deployments)[0]);
    const sends = { ...open, split: null, redirectTo };
    claim(host, to === null ? null : { route: to, gate: sends, others: null });
  }
  return { routes: [...routes.values()], production, hosts, custom };
}
