// Who calls the AI gateway, and how the processes of the platform tell each other: base64url of its JSON, in a header
// that only a socket of the platform's own reads. Pure.
import { plans, type Plan } from './plans.ts';

/** The header that names the caller; dropped where it comes from outside. */
export const AI_CALLER_HEADER = 'x-platform-ai-caller';

/** What a worker with AI has among its variables. */
export const AI_URL_VARIABLE = 'PLATFORM_AI_URL';
export const AI_TOKEN_VARIABLE = 'PLATFORM_AI_TOKEN';

/** The organization of deployments that were published into the data folder, without a control plane. */
export const LOCAL_ORGANIZATION = 'local';

/** What a call comes from. */
export const aiCallerKinds = ['worker', 'agent', 'sandbox', 'dev', 'key'] as const;
export type AiCallerKind = (typeof aiCallerKinds)[number];

/** Who calls. */
export interface AiCaller {
  readonly kind: AiCallerKind;
  readonly organizationId: string;
  /** Null: a key of the organization. */
  readonly projectId: string | null;
  readonly deploymentId: string | null;
  readonly branch: string | null;
  readonly plan: Plan;
  /** The agent's run that the call belongs to; null: none. */
  readonly runId: string | null;
  /** The key of the organization; never said over the header, since keys come from outside. */
  readonly keyId?: string;
}

/** Somebody in `platform dev`: no organization and no plan bounds what they call. */
export function devCaller(kind: 'dev' | 'sandbox', projectId: string): AiCaller {
  return {
    kind,
    organizationId: LOCAL_ORGANIZATION,
    projectId,
    deploymentId: null,
    branch: 'dev',
    plan: 'free',
    runId: null,
  };
}

/** Of the header, which is base64. */
const CHARACTERS_MAX = 8192;
const NAME_CHARACTERS_MAX = 1024;

/** As the value of a header. */
export function encodeCaller(caller: AiCaller): string {
  return Buffer.from(JSON.stringify(caller)).toString('base64url');
}

/** Null: it is none, or not one that this version knows. */
export function decodeCaller(header: string): AiCaller | null {
  if (header.length > CHARACTERS_MAX || !/^[A-Za-z0-9_-]+$/.test(header)) return null;
  let value: unknown;
  try {
    value = JSON.parse(Buffer.from(header, 'base64url').toString());
  } catch {
    return null;
  }
  if (value === null || typeof value !== 'object') return null;
  const { kind, organizationId, projectId, deploymentId, branch, plan, runId } = value as Record<string, unknown>;
  const knownKind = aiCallerKinds.find((one) => one === kind);
  const knownPlan = plans.find((one) => one === plan);
  if (knownKind === undefined || knownPlan === undefined || !isName(organizationId)) return null;
  if (!isNameOrNull(projectId) || !isNameOrNull(deploymentId) || !isNameOrNull(branch) || !isNameOrNull(runId))
    return null;
  return { kind: knownKind, organizationId, projectId, deploymentId, branch, plan: knownPlan, runId };
}

const isName = (value: unknown): value is string =>
  typeof value === 'string' && value !== '' && value.length <= NAME_CHARACTERS_MAX;
const isNameOrNull = (value: unknown): value is string | null => value === null || isName(value);
