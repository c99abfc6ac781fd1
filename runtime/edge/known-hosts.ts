// Hosts that may have a certificate: custom domains and deployments, according to the route records, and the platform's
// own hosts. Used by edge.ts; works without the database.
import type { RouteRecord } from '#core/manifest.ts';
import { branchSlug } from '#core/names.ts';

/** Kinds of hosts. All hosts of the kind `deployment` share one budget of certificates. */
type HostKind = 'custom' | 'deployment' | 'platform';

/** The current hosts. */
export interface KnownHosts {
  /** The kind of a host, which is a lower-case DNS name; null if the host is unknown. */
  kindOf(host: string): HostKind | null;
  /** Hosts that get a certificate before their first visit. */
  eager(): Iterable<string>;
}

/**
 * @param domains the platform's own domains, which contain the hosts of projects
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
    // A host without a target gets no certificate, because its visitors would get an error anyway.
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
