// Host -> deployment, rebuilt whenever a record changes and only looked up per request. Pure: records come in, routes
// go out.
import type { RouteOwner, RouteProtection, RouteRecord } from '#core/manifest.ts';
import { branchSlug } from '#core/names.ts';
import type { Plan } from '#core/plans.ts';
import { previewOf, variablesOf } from '#core/preview.ts';

/**
 * Where a host leads. One object serves all hosts of a deployment, and stays the same object while nothing of it
 * changes.
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
  /** Slug of the branch whose own resources it has; null: production's. */
  readonly preview: string | null;
  /** Whose project it is, where it calls the AI gateway. */
  readonly owner?: RouteOwner;
}

/** What stands between a host and what serves it: of previews, of production while it is split, of a redirect. */
export interface Gate {
  readonly project: string;
  /** No search engine is to keep what it answers. */
  readonly isPreview: boolean;
  readonly protection: RouteProtection | null;
  /** Who serves so much of a hundred instead. */
  readonly split: { readonly route: Route; readonly percent: number } | null;
  /** Host that visitors are sent on to. */
  readonly redirectTo: string | null;
}

/** A deployment whose pages are open on a host that leads to another one. */
export interface Other {
  readonly route: Route;
  /** When it was replaced, in milliseconds; Infinity: it is live too, production is split. */
  readonly supersededAt: number;
}

/** Where a host leads; the gate is null where nothing stands before it. */
export interface Lead {
  readonly route: Route;
  readonly gate: Gate | null;
  /** Those that it led to before, the last one first; null: it leads to one deployment for good. */
  readonly others: readonly Other[] | null;
}

/** Two projects claim one custom host (the one whose name sorts first has it), or one claims a host of the platform. */
interface RouteConflict {
  readonly host: string;
  /** Who does not get it. */
  readonly project: string;
  /** Who has it: a project, or `the platform`. */
  readonly other: string;
}

/** Of those that a host led to before, the last ones. */
const OTHERS_MAX = 20;

/** The table. */
interface RouteTable {
  /** The route of a Host header: lower case, with or without a port. */
  find(host: string): Route | null;
  /** The same with what stands before it. */
  lead(host: string): Lead | null;
  /** The route of a deployment by its id. */
  findDeployment(id: string): Route | null;
  /** Whether it is what its project serves. Not in the route: whoever becomes production, or was, goes on as it is. */
  isProduction(route: Route): boolean;
  /** Takes other records; returns the conflicts among them. */
  replace(records: readonly RouteRecord[]): RouteConflict[];
  routes(): Iterable<Route>;
}

/**
 * @param domains the platform's own: projects answer on `<project>.<domain>`, `<project>--<branch>.<domain>` and
 *   `<project>--<deployment id>.<domain>`.
 */
export function createRouteTable(domains: readonly string[]): RouteTable {
  let hosts = new Map<string, Lead>();
  let known = new Map<string, Route>();
  let deployments = new Map<string, Route>();
  let served = new Set<Route>();

  function lead(host: string): Lead | null {
    return hosts.get(host) ?? (host.includes(':') || host.endsWith('.') ? (hosts.get(plainHost(host)) ?? null) : null);
  }

  /** Also of projects that do not exist yet: nobody may take their host in advance. */
  function isOwnHost(host: string): boolean {
    return domains.some((domain) => host === domain || host.endsWith(`.${domain}`));
  }

  function replace(records: readonly RouteRecord[]): RouteConflict[] {
    const nextHosts = new Map<string, Lead>();
    const nextKnown = new Map<string, Route>();
    const conflicts: RouteConflict[] = [];
    const claimed = new Map<string, string>();
    const sorted = records.toSorted((a, b) => (a.project < b.project ? -1 : 1));
    const productions: (Route | null)[] = [];
    const custom: [host: string, project: string, to: Lead | null][] = [];
    for (const record of sorted) {
      const { project, plan } = record;
      const route = (id: string | null | undefined): Route | null => {
        const deployment = id === null || id === undefined ? undefined : record.deployments[id];
        if (deployment === undefined) return null;
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
        const key = JSON.stringify(made);
        const same = nextKnown.get(key) ?? known.get(key) ?? made;
        nextKnown.set(key, same);
        return same;
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
      // Visitors of production never come to the data of a preview.
      const isSplit = other !== null && other !== production && other.preview === null;
      const split = isSplit ? { route: other, percent: record.split!.percent } : null;
      const open = { project, isPreview: false, protection: null };
      const gate: Gate | null = split === null ? null : { ...open, split, redirectTo: null };
      const othersOf = (to: Route): Other[] => {
        // Nobody comes to a preview through production's host, to one that may be protected least of all.
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
      const own: Lead | null = production === null ? null : { route: production, gate, others: othersOf(production) };
      const leadTo = (to: Route): Lead =>
        to === production ? own! : { route: to, gate: ofPreviews, others: othersOf(to) };
      const add = (label: string, to: Lead | null): void => {
        if (to !== null) for (const domain of domains) nextHosts.set(`${label}.${domain}`, to);
      };
      for (const id of Object.keys(record.deployments)) {
        const to = route(id)!;
        add(`${project}--${id}`, { route: to, gate: to === production ? null : ofPreviews, others: null });
      }
      for (const [branch, id] of Object.entries(record.branches)) {
        const to = route(id);
        // Of production, not the part of its visitors that another one serves.
        const lead = to === null ? null : leadTo(to);
        add(`${project}--${branchSlug(branch, project)}`, lead === own && own !== null ? { ...own, gate: null } : lead);
      }
      add(project, own);
      productions.push(own?.route ?? null);
      for (const host of record.domains) custom.push([host, project, own]);
      for (const [host, branch] of Object.entries(record.branchDomains ?? {})) {
        const to = route(Object.hasOwn(record.branches, branch) ? record.branches[branch] : null);
        custom.push([host, project, to === null ? null : leadTo(to)]);
      }
      for (const [host, redirectTo] of Object.entries(record.redirects ?? {})) {
        // Sends on without a worker: whichever deployment there is.
        const to = production ?? route(Object.keys(record.deployments)[0]);
        const sends = { ...open, split: null, redirectTo };
        custom.push([host, project, to === null ? null : { route: to, gate: sends, others: null }]);
      }
    }
    for (const [host, project, to] of custom) {
      if (to === null) continue;
      const other = isOwnHost(host) ? 'the platform' : claimed.get(host);
      if (other !== undefined) {
        conflicts.push({ host, project, other });
        continue;
      }
      claimed.set(host, project);
      nextHosts.set(host, to);
    }
    hosts = nextHosts;
    known = nextKnown;
    served = new Set(productions.flatMap((own) => own ?? []));
    deployments = new Map([...nextKnown.values()].map((route) => [route.deployment, route]));
    return conflicts;
  }

  return {
    find: (host) => lead(host)?.route ?? null,
    lead,
    findDeployment: (id) => deployments.get(id) ?? null,
    isProduction: (route) => served.has(route),
    replace,
    routes: () => known.values(),
  };
}

function plainHost(host: string): string {
  return host.replace(/:\d*$/, '').replace(/\.$/, '');
}
