// Starts, advances and ends guarded releases: row, traffic split and route, in the transaction of the caller, which
// holds the project's lock.
import type { Manifest } from '#core/manifest.ts';
import type { Sql, Transaction } from '#postgres/sql.ts';
import type { SeenStep } from '../../records/guarded-releases.ts';
import type { ReleaseSettings } from '#core/release-settings.ts';

/**
 * The settings by which a deployment becomes production; null means immediately. platform.yaml overrides the project's
 * settings. Static sites are released in one step, because they have no code that could fail.
 */
export function releaseSettingsOf(
  { release, worker }: Pick<Manifest, 'release' | 'worker'>,
  { release: ofProject }: { readonly release?: ReleaseSettings },
): ReleaseSettings | null {
  const settings = release ?? ofProject;
  return settings === undefined || settings.steps.length === 1 || worker === null ? null : settings;
}

/** Gives a deployment the share of the first step. A running release is canceled, because the newer one replaces it. */
export async function startGuarded(
  tx: Transaction,
  projectId: string,
  release: { readonly deploymentId: string; readonly previousId: string; readonly settings: ReleaseSettings },
): Promise<void> {
  const { deploymentId, previousId, settings } = release;
  await endGuarded(tx, projectId, 'canceled', `${deploymentId} was released`);
  await tx`
    INSERT INTO control.guarded_release (project_id, deployment_id, previous_id, settings, steps)
    VALUES (${projectId}, ${deploymentId}, ${previousId}, ${tx.json(settings as never)},
      ${tx.json([newStep(settings.steps[0]!)] as never)})`;
  await setSplit(tx, projectId, { deploymentId, percent: settings.steps[0]! });
}

/** Ends the project's running guarded release, if there is one. The caller changes the split. */
export async function endGuarded(
  tx: Transaction,
  projectId: string,
  state: 'promoted' | 'rolled_back' | 'canceled',
  reason: string,
): Promise<void> {
  await tx`
    UPDATE control.guarded_release SET state = ${state}, reason = ${reason}, ended_at = now()
    WHERE project_id = ${projectId} AND state = 'running'`;
}

/** The deployment whose guarded release runs, or null. */
export async function runningGuarded(tx: Transaction | Sql, projectId: string): Promise<string | null> {
  const [row] = await tx<{ deployment_id: string }[]>`
    SELECT deployment_id FROM control.guarded_release WHERE project_id = ${projectId} AND state = 'running'`;
  return row?.deployment_id ?? null;
}

/** Sets the share of production's visitors that another deployment serves, or null. */
export async function setSplit(
  tx: Transaction,
  projectId: string,
  split: { readonly deploymentId: string; readonly percent: number } | null,
): Promise<void> {
  await tx`UPDATE control.project SET split = ${split === null ? null : tx.json(split)} WHERE id = ${projectId}`;
}

/** The step that begins now. */
export const newStep = (percent: number): SeenStep => ({
  percent,
  startedAt: new Date().toISOString(),
  endedAt: null,
  now: null,
  before: null,
  verdict: null,
});
