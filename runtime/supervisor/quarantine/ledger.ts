// The crash ledger: which deployments were running when engines died, or cost them threads, and when that justifies a
// quarantine. Pure; the supervisor stores its text in a file, so that it survives a restart.
import type { DeploymentKey, LedgerEntry } from '../engines/state.ts';

/** The unexpected end of an engine, or the loss of a thread. */
export interface Death {
  /** The deployment whose code the crashing thread was running; null if unknown (kill -9, out of memory). */
  readonly blamed: DeploymentKey | null;
  /** The organization of the blamed deployment; null where it is unknown. */
  readonly organization: string | null;
  /** Deployments whose code was running shortly before. */
  readonly running: readonly DeploymentKey[];
  /** ms since 1970. */
  readonly at: number;
}

/** Record of one deployment. */
interface Blame {
  /** Null if unknown. */
  readonly organization: string | null;
  readonly exact: number;
  readonly suspected: number;
  readonly lastAt: number;
}
export type Ledger = ReadonlyMap<DeploymentKey, Blame>;

/** After this many deaths that it certainly caused, a deployment is quarantined. */
const EXACT_MAX = 2;
/** After this many deaths of unknown cause while it was running, a deployment is quarantined. */
const SUSPECTED_MAX = 3;
/** Maximum number of deployments in the ledger; the oldest are dropped. */
const ENTRIES_MAX = 1000;

/** The ledger with one more death. If one deployment is certainly the cause, all others are cleared. */
export function withDeath(ledger: Ledger, { blamed, organization: told, running, at }: Death): Ledger {
  const next = new Map(ledger);
  for (const deployment of blamed === null ? running : [blamed]) {
    const before = ledger.get(deployment) ?? none;
    const organization = (blamed === null ? null : told) ?? before.organization;
    next.delete(deployment);
    next.set(deployment, {
      organization,
      exact: blamed === null ? before.exact : Math.max(before.exact, sharedBy(ledger, organization)) + 1,
      suspected: before.suspected + (blamed === null ? 1 : 0),
      lastAt: at,
    });
  }
  for (const deployment of next.keys()) {
    if (next.size <= ENTRIES_MAX) break;
    next.delete(deployment);
  }
  return next;
}

const none: Blame = { organization: null, exact: 0, suspected: 0, lastAt: 0 };

/**
 * The deaths that a deployment has in common with the others of its organization: after one of them has caused a death,
 * a deployment is quarantined for its own first death. Many deployments together can thus not kill more engines than
 * one. Pauses depend on a deployment's own deaths.
 */
function sharedBy(ledger: Ledger, organization: string | null): number {
  if (organization === null) return 0;
  for (const blame of ledger.values()) if (blame.organization === organization && blame.exact > 0) return EXACT_MAX - 1;
  return 0;
}

/** Number of engines that a deployment is blamed for; with two, it is quarantined. */
export function strikesOf(ledger: Ledger, deployment: DeploymentKey): number {
  const { exact, suspected } = ledger.get(deployment) ?? none;
  return Math.max(exact, suspected - (SUSPECTED_MAX - EXACT_MAX));
}

/** Whether a deployment must be quarantined. */
export function isDangerous(ledger: Ledger, deployment: DeploymentKey): boolean {
  return strikesOf(ledger, deployment) >= EXACT_MAX;
}

/** The ledger after a deployment has behaved well: one more death quarantines it again. */
export function withRelease(ledger: Ledger, deployment: DeploymentKey): Ledger {
  const record = ledger.get(deployment);
  if (record === undefined) return ledger;
  const next = new Map(ledger);
  const exact = Math.min(record.exact, EXACT_MAX - 1);
  next.set(deployment, { ...record, exact, suspected: Math.min(record.suspected, SUSPECTED_MAX - 1) });
  return next;
}

/** The ledger without entries that are too old to count; the same object if there are no such entries. */
export function faded(
  ledger: Ledger,
  now: number,
  keptMs: number,
  isConfined: (deployment: DeploymentKey) => boolean,
): Ledger {
  const kept = [...ledger].filter(([deployment, { lastAt }]) => now - lastAt < keptMs || isConfined(deployment));
  return kept.length === ledger.size ? ledger : new Map(kept);
}

export function ledgerText(ledger: Ledger): string {
  return `${JSON.stringify({ version: 1, deployments: Object.fromEntries(ledger) })}\n`;
}

/** Parses the ledger. An unreadable ledger is treated as empty, because the platform can serve without it. */
export function parseLedger(text: string): Ledger {
  const ledger = new Map<DeploymentKey, Blame>();
  let read: unknown;
  try {
    read = JSON.parse(text);
  } catch {
    return ledger;
  }
  const { version, deployments } = (read ?? {}) as { version?: unknown; deployments?: unknown };
  if (version !== 1 || typeof deployments !== 'object' || deployments === null) return ledger;
  for (const [deployment, value] of Object.entries(deployments).slice(-ENTRIES_MAX)) {
    const { organization = null, exact, suspected, lastAt } = (value ?? {}) as Partial<Blame>;
    if (!isCount(exact) || !isCount(suspected) || !isCount(lastAt)) continue;
    if (organization === null || typeof organization === 'string')
      ledger.set(deployment, { organization, exact, suspected, lastAt });
  }
  return ledger;
}

function isCount(value: unknown): value is number {
  return Number.isSafeInteger(value) && (value as number) >= 0;
}

/** For operators. */
export function ledgerEntries(ledger: Ledger): LedgerEntry[] {
  return [...ledger].map(([deployment, { exact, suspected, lastAt }]) => ({
    deployment,
    exact,
    suspected,
    lastAt: new Date(lastAt).toISOString(),
  }));
}
