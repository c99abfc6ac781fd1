// The hosts that a sandbox may reach: the operator's list, restricted by the owner's choice.
// core/outbound/connect.ts opens the connections.
import type { LookupFunction } from 'node:net';
import type { Duplex } from 'node:stream';
import type { EgressPolicy } from '#core/egress.ts';
import type { EgressChoice } from '#core/sandbox/options.ts';
import { answerConnect as leadOut } from '#core/outbound/connect.ts';

/** The egress policy. */
export interface SandboxEgress {
  readonly policy: EgressPolicy;
  /** Resolves a name to the addresses that the policy allows. */
  readonly lookup: LookupFunction;
  /** Names, and `*.` with a name for its subdomains; null means every host. */
  readonly hosts: readonly string[] | null;
}

/** The sandbox's own restriction, or null. */
export interface NarrowedEgress extends SandboxEgress {
  readonly choice: EgressChoice | null;
}

/** Opens a connection for a sandbox. @param target `<host>:<port>` */
export function lead(target: string, stream: Duplex, { policy, lookup, hosts, choice }: NarrowedEgress): void {
  leadOut(target, stream, {
    who: 'sandboxes',
    policy,
    lookup,
    refusalOf(name) {
      if (hosts !== null && !isListed(name, hosts))
        return `${name} is not among the hosts that sandboxes may reach (SANDBOX_EGRESS_HOSTS)`;
      if (choice?.mode === 'none') return 'this sandbox may reach nothing (its egress is "none")';
      if (choice?.mode === 'allow' && !isListed(name, choice.allow))
        return `${name} is not among the hosts that this sandbox may reach (its egress.allow)`;
      return null;
    },
  });
}

/** @example isListed('api.example.com', ['*.example.com']) // true */
function isListed(name: string, hosts: readonly string[]): boolean {
  return hosts.some((host) =>
    host.startsWith('*.') ? name.endsWith(host.slice(1)) || name === host.slice(2) : name === host,
  );
}
