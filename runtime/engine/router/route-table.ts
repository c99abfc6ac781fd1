// Finds the deployment of a host: updated per project, looked up per request. This module only converts records to
// routes, and has no side effects.
import type { RouteRecord } from '#core/manifest.ts';
import { projectRoutes, type RouteMatch, type Route } from './project-routes.ts';

/**
 * A conflict: two projects claim the same custom host, which the first by name gets, or a project claims a host of the
 * platform.
 */
interface RouteConflict {
  readonly host: string;
  /** The project that does not get the host. */
  readonly project: string;
  /** The owner: a project, or `the platform`. */
  readonly other: string;
}

/** The new record of a project, or null if it was deleted. */
interface RecordChange {
  readonly project: string;
  readonly record: RouteRecord | null;
}

/** The result of a change, which only covers the changed projects. */
export interface RouteChanges {
  /** All routes of the changed projects. */
  readonly current: readonly Route[];
  /** Former routes of the projects that no longer exist. */
  readonly gone: readonly Route[];
  /** Conflicts over hosts that these projects claim or claimed. */
  readonly conflicts: readonly RouteConflict[];
}

/** The table. */
export interface RouteTable {
  /** The route for a Host header in lower case, with or without a port. */
  find(host: string): Route | null;
  /** The route for a Host header, with its gate. */
  match(host: string): RouteMatch | null;
  /** The route of a deployment by its id. */
  findDeployment(id: string): Route | null;
  /**
   * Whether a route is its project's production. This is not a part of the route, so that a deployment stays the same
   * when it becomes production or stops being production.
   */
  isProduction(route: Route): boolean;
  /** Applies new records of some projects. */
  change(changes: Iterable<RecordChange>): RouteChanges;
  /** Replaces the records of all projects; for unchanged objects, nothing is done. */
  replace(records: readonly RouteRecord[]): RouteChanges;
  routes(): Iterable<Route>;
  /** The routes of one project. */
  routesOf(project: string): readonly Route[];
  /**
   * The deployment that other projects call: the latest deployment of a branch if there is one, otherwise production.
   *
   * @param branch null: production.
   */
  called(project: string, branch: string | null): Route | null;
  /** Number of routes. */
  readonly size: number;
}

/** A project in the table. */
interface Entry {
  readonly record: RouteRecord;
  readonly routes: readonly Route[];
  readonly production: Route | null;
  /** The project's hosts on the platform's own domains. */
  readonly hosts: readonly string[];
  /** Custom hosts that the project claims, or null. */
  readonly claims: ReadonlyMap<string, RouteMatch> | null;
}

/**
 * @param domains the platform's own domains: projects are served on `<project>.<domain>`,
 * `<project>--<branch>.<domain>` and `<project>--<deployment id>.<domain>`.
 */
export function createRouteTable(domains: readonly string[]): RouteTable {
  const hosts = new Map<string, RouteMatch>();
  const projects = new Map<string, Entry>();
  /** The sorted projects that claim each custom host; the first one gets it. */
  const claimants = new Map<string, readonly string[]>();
  /** Two projects with the same artifact may have the same id; then the latest is found. */
  const deployments = new Map<string, readonly Route[]>();
  let size = 0;

  function match(host: string): RouteMatch | null {
    return hosts.get(host) ?? (host.includes(':') || host.endsWith('.') ? (hosts.get(plainHost(host)) ?? null) : null);
  }

  /** This includes projects that do not exist yet, so that their host cannot be claimed in advance. */
  function isOwnHost(host: string): boolean {
    return domains.some((domain) => host === domain || host.endsWith(`.${domain}`));
  }

  function remove(project: string): Entry | undefined {
    const entry = projects.get(project);
    if (entry === undefined) return undefined;
    projects.delete(project);
    size -= entry.routes.length;
    for (const host of entry.hosts) hosts.delete(host);
    for (const route of entry.routes) {
      const left = deployments.get(route.deployment)!.filter((other) => other !== route);
      if (left.length === 0) deployments.delete(route.deployment);
      else deployments.set(route.deployment, left);
    }
    for (const host of entry.claims?.keys() ?? []) {
      const left = claimants.get(host)!.filter((other) => other !== project);
      if (left.length === 0) claimants.delete(host);
      else claimants.set(host, left);
    }
    return entry;
  }

  function add(record: RouteRecord, before: readonly Route[] | undefined, conflicts: RouteConflict[]): Entry {
    const { project } = record;
    const { routes, production, hosts: own, custom } = projectRoutes(record, domains, before);
    const claims = new Map<string, RouteMatch>();
    for (const [host, to] of custom) {
      if (isOwnHost(host)) conflicts.push({ host, project, other: 'the platform' });
      else if (claims.has(host)) conflicts.push({ host, project, other: project });
      else claims.set(host, to);
    }
    for (const [host, to] of own) hosts.set(host, to);
    for (const route of routes)
      deployments.set(route.deployment, [...(deployments.get(route.deployment) ?? []), route]);
    for (const host of claims.keys()) claimants.set(host, [...(claimants.get(host) ?? []), project].toSorted());
    const entry = { record, routes, production, hosts: [...own.keys()], claims: claims.size === 0 ? null : claims };
    projects.set(project, entry);
    size += routes.length;
    return entry;
  }

  function change(changes: Iterable<RecordChange>): RouteChanges {
    const current: Route[] = [];
    const gone: Route[] = [];
    const conflicts: RouteConflict[] = [];
    const touched = new Set<string>();
    for (const { project, record } of changes) {
      const before = remove(project);
      const after = record === null ? null : add(record, before?.routes, conflicts);
      for (const route of after?.routes ?? []) current.push(route);
      if (before !== undefined) {
        const kept = new Set(after?.routes);
        for (const route of before.routes) if (!kept.has(route)) gone.push(route);
      }
      for (const entry of [before, after]) for (const host of entry?.claims?.keys() ?? []) touched.add(host);
    }
    for (const host of touched) {
      const [first, ...others] = claimants.get(host) ?? [];
      if (first === undefined) hosts.delete(host);
      else hosts.set(host, projects.get(first)!.claims!.get(host)!);
      for (const project of others) conflicts.push({ host, project, other: first! });
    }
    return { current, gone, conflicts };
  }

  function replace(records: readonly RouteRecord[]): RouteChanges {
    const left = new Set(projects.keys());
    const changes: RecordChange[] = [];
    for (const record of records) {
      left.delete(record.project);
      if (projects.get(record.project)?.record !== record) changes.push({ project: record.project, record });
    }
    for (const project of left) changes.push({ project, record: null });
    return change(changes);
  }

  return {
    find: (host) => match(host)?.route ?? null,
    match,
    findDeployment: (id) => deployments.get(id)?.at(-1) ?? null,
    isProduction: (route) => projects.get(route.project)?.production === route,
    change,
    replace,
    *routes() {
      for (const { routes } of projects.values()) yield* routes;
    },
    called(project, branch) {
      const entry = projects.get(project);
      if (entry === undefined) return null;
      const { branches } = entry.record;
      const id = branch !== null && Object.hasOwn(branches, branch) ? branches[branch] : undefined;
      return entry.routes.find(({ deployment }) => deployment === id) ?? entry.production;
    },
    routesOf: (project) => projects.get(project)?.routes ?? [],
    get size() {
      return size;
    },
  };
}

function plainHost(host: string): string {
  return host.replace(/:\d*$/, '').replace(/\.$/, '');
}
