// Hosts that may have a certificate: custom domains and deployments, from the route records alone, and the platform's
// own. Used by edge.ts; works without the database.
import type { RouteRecord } from '#core/manifest.ts';
import { branchSlug } from '#core/names.ts';

/** Kinds of hosts. All hosts of deployments share one budget of certificates. */
type HostKind = 'custom' | 'deployment' | 'platform';

/** The current hosts. */
export interface KnownHosts {
  /** Null: unknown. The name is a lower-case DNS name. */
  kindOf(host: string): HostKind | null;
  /** Hosts that get a certificate before their first visit. */
  eager(): Iterable<string>;
}

/**
 * @param domains the platform's own, below which projects are
 * @param sites hosts of API, dashboard and documentation
 */
export function knownHosts(
  records: readonly RouteRecord[],
  domains: readonly string[],
  sites: readonly string[],
): KnownHosts {
  const custom = new Set<string>();
  const labels = new Set<string>();
  const isOwn = (host: string): boolean =>
    sites.includes(host) || domains.some((domain) => host === domain || host.endsWith(`.${domain}`));
  for (const { project, deployments, branches, production, ...record } of records) {
    if (production !== null) labels.add(project);
    for (const id of Object.keys(deployments)) labels.add(`${project}--${id}`);
    for (const branch of Object.keys(branches)) labels.add(`${project}--${branchSlug(branch, project)}`);
    // A host without a target gets none: its visitors would see an error all the same.
    const serving = [
      ...(production === null ? [] : record.domains),
      ...Object.entries(record.branchDomains ?? {}).flatMap(([host, branch]) =>
        Object.hasOwn(branches, branch) ? [host] : [],
      ),
      ...(Object.keys(deployments).length === 0 ? [] : Object.keys(record.redirects ?? {})),
    ];
    for (const host of serving) if (!isOwn(host)) custom.add(host);
  }
  return {
    kindOf(host) {
      if (sites.includes(host)) return 'platform';
      if (custom.has(host)) return 'custom';
      const isDeployment = domains.some(
        (domain) => host.endsWith(`.${domain}`) && labels.has(host.slice(0, -domain.length - 1)),
      );
      return isDeployment ? 'deployment' : null;
    },
    *eager() {
      yield* sites;
      yield* custom;
    },
  };
}
