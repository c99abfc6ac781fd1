// URLs of deployments. Pure.
import { branchSlug } from '#core/names.ts';
import type { Addresses } from '../process/configuration.ts';

/** The fields of a deployment that its URLs depend on. */
interface Addressed {
  readonly id: string;
  readonly branch: string;
  readonly isProduction: boolean;
}

/**
 * The URLs by preference: the project's URL if the deployment is production, the branch's URL, and the deployment's own
 * URL.
 *
 * @example deploymentUrls(addresses, 'shop', { id: 'd4k...', branch: 'main', isProduction: true })
 * // ['http://shop.localhost:4001', 'http://shop--main.localhost:4001', 'http://shop--d4k....localhost:4001']
 */
export function deploymentUrls(addresses: Addresses, project: string, deployment: Addressed): string[] {
  const { protocol, domain, port } = addresses;
  const url = (label: string): string => `${protocol}://${label}.${domain}${port === null ? '' : `:${port}`}`;
  return [
    ...(deployment.isProduction ? [url(project)] : []),
    url(`${project}--${branchSlug(deployment.branch, project)}`),
    url(`${project}--${deployment.id}`),
  ];
}
