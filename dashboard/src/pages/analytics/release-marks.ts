// Releases as marks of a chart. Pure.
import type { Mark } from '../../components/chart-series.ts';

/** A moment when production moved to a deployment. */
interface Release {
  readonly at: string;
  readonly deploymentId: string;
  readonly commitSha: string | null;
  readonly isRollback: boolean;
}

/** Promotions and rollbacks, with the commit of their deployment, or its id. */
export function releaseMarks(releases: readonly Release[]): Mark[] {
  return releases.map(({ at, deploymentId, commitSha, isRollback }) => {
    const name = commitSha?.slice(0, 7) ?? deploymentId;
    return { at: Date.parse(at), label: isRollback ? `Rollback to ${name}` : name };
  });
}
