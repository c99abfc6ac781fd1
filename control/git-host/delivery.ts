// Deliveries of Git hosts as they are stored, and the order in which they are processed. Pure.
import type { Delivery } from '#git/host/delivery.ts';

export interface StoredDelivery {
  readonly deliveryId: string;
  readonly seq: number;
  readonly subject: string;
  readonly receivedAt: Date;
}

/** The subject of a delivery, such as a branch. Deliveries of one subject are processed in the order of arrival. */
export function subjectOf(delivery: Delivery): string {
  if (delivery.event === 'installation' || delivery.event === 'installation_repositories')
    return `installation:${delivery.installationId}`;
  const { gitHostId, repositoryId } = delivery;
  const repository = gitHostId === undefined ? repositoryId : `${gitHostId}:${repositoryId}`;
  if (delivery.event === 'pull_request') return `pull_request:${repository}:${delivery.number}`;
  return delivery.event === 'repository' ? `repository:${repository}` : `branch:${repository}:${delivery.branch}`;
}
