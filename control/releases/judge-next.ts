// The loop of guarded releases: judges each running release every few seconds, and advances it, promotes it or rolls it
// back. The state is in Postgres, so a release continues after a restart. Started by ../start.ts.
import { latencyOf } from '#core/histogram.ts';
import { runRounds } from '#core/process/rounds.ts';
import type { Transaction } from '#postgres/sql.ts';
import { writeEvent } from '../alerts/events.ts';
import type { Dependencies } from '../process/dependencies.ts';
import type { GuardedRow, SeenFigures, SeenStep } from '../records/guarded-releases.ts';
import { systemAudit } from './audit-entries.ts';
import { addLogLines } from './deployment-log.ts';
import { pointBranch, pointProduction, type ProductionPointer } from './pointers.ts';
import { withProject } from './project-lock.ts';
import { touchRoute, writeRoute } from './project-routes.ts';
import { endGuarded, newStep, setSplit } from './guarded/changes.ts';
import { readFigures, type Figures, type StepFigures } from './guarded/figures.ts';
import { judge, type Verdict } from './guarded/judge.ts';

const POLL_MS = 2000;
/** Interval between two checks of a release: usage arrives every few seconds. */
const LOOK_SECONDS = 5;
const LOCK_WAIT_MS = 20_000;

/** Judges releases until the process ends. */
export function judgeReleases(deps: Dependencies): Promise<void> {
  return runRounds(deps, { failure: 'A guarded release could not be judged', pollMs: POLL_MS }, () => judgeNext(deps));
}

interface DueRow extends GuardedRow {
  readonly id: number;
  readonly project_id: string;
  readonly organization_id: string;
  readonly deployment_id: string;
  readonly branch: string;
  readonly step_at: Date;
  readonly minutes: number;
}

/** Judges the release that is due first. @returns false if no release is due. */
export async function judgeNext(deps: Dependencies): Promise<boolean> {
  const { sql } = deps;
  const [row] = await sql<DueRow[]>`
    UPDATE control.guarded_release AS guarded SET due_at = now() + ${LOOK_SECONDS} * interval '1 second'
    FROM control.deployment
    WHERE guarded.id = (
        SELECT id FROM control.guarded_release WHERE state = 'running' AND due_at <= now()
        ORDER BY due_at LIMIT 1 FOR UPDATE SKIP LOCKED)
      AND deployment.id = deployment_id
    RETURNING guarded.*, organization_id, branch, (extract(epoch FROM now() - step_at) / 60)::float8 AS minutes`;
  if (row === undefined) return false;
  const figures = await sql.begin(async (tx) => {
    await tx`SELECT set_config('statement_timeout', ${String(deps.telemetryLimits.scanMs)}, true)`;
    const { project_id: projectId, deployment_id: deploymentId, previous_id: previousId, step_at: since } = row;
    return readFigures(tx, { projectId, deploymentId, previousId, since });
  });
  const verdict = judge(row.settings, figures, row.minutes);
  if (verdict.action === 'wait') {
    await sql`
      UPDATE control.guarded_release SET steps = ${sql.json(seen(row, figures, verdict, null) as never)}
      WHERE id = ${row.id} AND state = 'running' AND step = ${row.step}`;
    return true;
  }
  await withProject(deps, row.project_id, LOCK_WAIT_MS, async () => {
    await sql.begin((tx) => act(tx, row, figures, verdict));
    await writeRoute(deps, row.project_id);
  });
  return true;
}

/** Carries out the decision, unless production or the release has changed since. */
async function act(tx: Transaction, row: DueRow, figures: StepFigures, verdict: Verdict): Promise<void> {
  const { id, project_id: projectId, deployment_id: deploymentId, settings, step } = row;
  const [project] = await tx<(ProductionPointer & { is_deleted: boolean })[]>`
    SELECT production_deployment_id, production_history, deleted_at IS NOT NULL AS is_deleted FROM control.project
    WHERE id = ${projectId} FOR UPDATE`;
  const [held] = await tx`
    UPDATE control.guarded_release SET steps = ${tx.json(seen(row, figures, verdict, new Date().toISOString()) as never)}
    WHERE id = ${id} AND state = 'running' AND step = ${step} RETURNING id`;
  if (held === undefined || project === undefined) return;
  if (project.is_deleted) return endGuarded(tx, projectId, 'canceled', 'The project was deleted');
  const { action, reason } = verdict;
  const percent = settings.steps[step + 1];
  let said: string;
  if (action === 'roll_back') {
    await endGuarded(tx, projectId, 'rolled_back', reason);
    await setSplit(tx, projectId, null);
    await warn(tx, projectId, deploymentId, reason);
    said = `Rolled back at ${settings.steps[step]} % of the visitors. ${reason}`;
  } else if (percent === undefined || percent === 100) {
    await endGuarded(tx, projectId, 'promoted', reason);
    await pointProduction(tx, projectId, project, deploymentId);
    await pointBranch(tx, projectId, row.branch, deploymentId);
    said = `Production now serves this deployment. ${reason}`;
  } else {
    await tx`
      UPDATE control.guarded_release SET step = ${step + 1}, step_at = now(), steps = steps || ${tx.json(newStep(percent) as never)}
      WHERE id = ${id}`;
    await setSplit(tx, projectId, { deploymentId, percent });
    said = `${percent} % of the visitors now get this deployment. ${reason}`;
  }
  await touchRoute(tx, projectId);
  await addLogLines(tx, deploymentId, 'release', [[action === 'roll_back' ? 'error' : 'info', said]]);
  await systemAudit(tx, {
    organizationId: row.organization_id,
    projectId,
    action: action === 'roll_back' ? 'release.roll_back' : percent === 100 ? 'release.promote' : 'release.advance',
    subjectKind: 'deployment',
    subjectId: deploymentId,
    details: { previous: row.previous_id, percent: action === 'roll_back' ? 0 : (percent ?? 100), reason },
  });
}

/** Alerts all channels of the project. */
async function warn(tx: Transaction, projectId: string, deploymentId: string, message: string): Promise<void> {
  const name = `Release of ${deploymentId} rolled back`;
  await writeEvent(tx, { projectId, ruleId: null, type: 'fired', name, value: null, message, channels: 'all' });
}

/** The steps, with the measurements of the current step. */
function seen(
  { steps }: DueRow,
  { now, before }: StepFigures,
  { reason }: Verdict,
  endedAt: string | null,
): SeenStep[] {
  const step = { ...steps.at(-1)!, now: toSeen(now), before: toSeen(before), verdict: reason, endedAt };
  return [...steps.slice(0, -1), step];
}

function toSeen({ requests, failures, measured, firstByte, cpuMs }: Figures): SeenFigures {
  return {
    requests,
    failures,
    p99Ms: latencyOf(firstByte)?.p99 ?? null,
    cpuMs: measured === 0 ? null : cpuMs / measured,
  };
}
