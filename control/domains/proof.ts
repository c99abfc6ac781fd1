// Verifies a domain by its TXT record, by a CNAME to the project's host, or, for a domain verified before, by
// addresses of the platform. Called by check-domain.ts.
import type { NameRecords } from '../process/name-records.ts';
import type { Proof } from '../records/domains.ts';

/** Arguments of {@link findProof}. */
interface ProofQuestion {
  readonly hostname: string;
  readonly verification: { readonly name: string; readonly value: string };
  /** Hosts of the project such as `shop.example.net`; hosts of its branches count as well. */
  readonly projectHosts: readonly string[];
  /** The platform's addresses, if the domain was verified before; otherwise empty. */
  readonly ownAddresses: readonly string[];
}

/** Maximum length of a CNAME chain; resolvers have a similar limit. */
const LINKS_MAX = 8;

/** Never rejects. */
export async function findProof(names: NameRecords, question: ProofQuestion): Promise<Proof> {
  const { hostname, verification, ownAddresses } = question;
  const found = await Promise.allSettled([
    names.txt(verification.name),
    followAliases(names, question),
    ownAddresses.length === 0 ? [] : names.addresses(hostname),
  ] as const);
  const [txt, alias, addresses] = found;
  if (txt.status === 'fulfilled' && txt.value.some((text) => text.trim() === verification.value)) return { by: 'txt' };
  if (alias.status === 'fulfilled' && alias.value === null) return { by: 'cname' };
  if (addresses.status === 'fulfilled' && addresses.value.length > 0)
    if (addresses.value.every((address) => ownAddresses.includes(address))) return { by: 'addresses' };
  const failed = found.find((each) => each.status === 'rejected');
  if (failed !== undefined) {
    const { code = 'no answer' } = failed.reason as { code?: string };
    return { by: 'unknown', problem: `The name servers did not respond: ${code}` };
  }
  const records = txt.status === 'fulfilled' ? txt.value : [];
  const about = alias.status === 'fulfilled' ? alias.value : null;
  const problem =
    records.length === 0
      ? `There is no TXT record ${verification.name}`
      : `The TXT record ${verification.name} has another value`;
  return { by: 'none', problem: about === null || about === '' ? problem : `${problem}, and ${about}` };
}

/** Null if the chain leads to the project; otherwise the last name of the chain, or '' without a CNAME. */
async function followAliases(names: NameRecords, { hostname, projectHosts }: ProofQuestion): Promise<string | null> {
  const seen = new Set([hostname]);
  let name = hostname;
  for (let links = 0; links < LINKS_MAX; links++) {
    const [target] = await names.cname(name);
    if (target === undefined) return links === 0 ? '' : `its CNAME leads to ${name}`;
    if (projectHosts.some((host) => isHostOf(target, host))) return null;
    if (seen.has(target)) return `its CNAME records lead in a circle: ${target}`;
    seen.add(target);
    name = target;
  }
  return `its CNAME records lead over more than ${LINKS_MAX} names`;
}

/** `shop.example.net` and `shop--main.example.net`: names of projects contain no `--`. */
function isHostOf(target: string, projectHost: string): boolean {
  const dot = projectHost.indexOf('.');
  const [project, domain] = [projectHost.slice(0, dot), projectHost.slice(dot)];
  if (!target.endsWith(domain)) return false;
  const label = target.slice(0, -domain.length);
  return !label.includes('.') && (label === project || label.startsWith(`${project}--`));
}
