// Evaluates due rules, each in a transaction that locks its row. The measurement, the new state, the event and its
// deliveries are written in one transaction, so only one of several API processes evaluates a rule. Started by main.ts.
import { runRounds } from '#core/process/rounds.ts';
import type { Transaction } from '#postgres/sql.ts';
import type { Dependencies } from '../process/dependencies.ts';
import { writeEvent } from './events.ts';
import { measure, type Measured, type Measurement } from './measure.ts';
import { stepAlert } from './step.ts';

const LOOK_MS = 5000;
/** Interval between evaluations of a rule. */
const EVALUATION_SECONDS = 30;
const MESSAGE_CHARS_MAX = 1000;

interface RuleRow extends Measured {
  readonly id: string;
  readonly name: string;
  readonly clear_below: number;
  readonly evaluations: number;
  readonly quiet_seconds: number;
  readonly channels: readonly string[];
  readonly is_firing: boolean;
  readonly over_count: number;
  readonly fired_at: Date | null;
}

/** Evaluates rules until the process ends. */
export function evaluateAlerts(deps: Dependencies): Promise<void> {
  return runRounds(deps, { failure: 'Alerts not evaluated', pollMs: LOOK_MS }, () => evaluateNext(deps));
}

/**
 * Evaluates the rule that is due first. @returns false if no rule is due, or other processes have locked the due rules.
 */
export async function evaluateNext(
  deps: Dependencies,
  read: (tx: Transaction, rule: Measured) => Promise<Measurement> = (tx, rule) => measure(deps, tx, rule),
): Promise<boolean> {
  return deps.sql.begin(async (tx) => {
    await tx`SELECT set_config('statement_timeout', ${String(deps.telemetryLimits.scanMs)}, true)`;
    const [rule] = await tx<RuleRow[]>`
      SELECT rule.* FROM control.alert_rule AS rule LEFT JOIN control.project ON project.id = rule.project_id
      WHERE rule.enabled AND rule.next_at <= now() AND project.deleted_at IS NULL
      ORDER BY rule.next_at LIMIT 1 FOR UPDATE OF rule SKIP LOCKED`;
    if (rule === undefined) return false;
    let found: Measurement;
    try {
      found = await tx.savepoint((inner) => read(inner as unknown as Transaction, rule));
    } catch (error) {
      // The measurement failed: keep the state.
      deps.log.warn({ rule: rule.id, reason: (error as Error).message }, 'Alert not measured');
      await tx`
        UPDATE control.alert_rule SET next_at = now() + ${EVALUATION_SECONDS} * interval '1 second',
          message = 'It could not be measured; the log of the API process says why' WHERE id = ${rule.id}`;
      return true;
    }
    await settle(tx, rule, found);
    return true;
  });
}

async function settle(tx: Transaction, rule: RuleRow, { value, message: said }: Measurement): Promise<void> {
  const message = said.slice(0, MESSAGE_CHARS_MAX);
  // The threshold of a certificate rule is in days; its value is the number of problems.
  const isCount = rule.kind === 'certificate';
  const next = stepAlert(
    { isFiring: rule.is_firing, overCount: rule.over_count, firedAt: rule.fired_at?.getTime() ?? null },
    {
      threshold: isCount ? 1 : rule.threshold,
      clearBelow: isCount ? 1 : rule.clear_below,
      evaluations: rule.evaluations,
      quietMs: rule.quiet_seconds * 1000,
    },
    value,
    Date.now(),
  );
  await tx`
    UPDATE control.alert_rule SET is_firing = ${next.isFiring}, over_count = ${next.overCount}, value = ${value},
      fired_at = ${next.firedAt === null ? null : new Date(next.firedAt)}, message = ${message}, evaluated_at = now(),
      next_at = now() + ${EVALUATION_SECONDS} * interval '1 second'
    WHERE id = ${rule.id}`;
  if (next.event === null) return;
  const { id: ruleId, project_id: projectId, name } = rule;
  await writeEvent(tx, { projectId, ruleId, type: next.event, name, value, message, channels: rule.channels });
}
