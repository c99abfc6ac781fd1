// Identifies the caller of the AI gateway between processes of the platform: base64url of its JSON, in a header that
// is only read on private sockets. Pure.
import { plans, type Plan } from './plans.ts';

/** The header that identifies the caller. It is removed from external requests. */
export const AI_CALLER_HEADER = 'x-platform-ai-caller';

/** Variable that marks a worker with AI. */
export const AI_URL_VARIABLE = 'PLATFORM_AI_URL';
export const AI_TOKEN_VARIABLE = 'PLATFORM_AI_TOKEN';

/** The organization of deployments published into the data folder without a control plane. */
export const LOCAL_ORGANIZATION = 'local';

/** Sources of a call. */
const aiCallerKinds = ['worker', 'agent', 'sandbox', 'dev', 'key'] as const;
export type AiCallerKind = (typeof aiCallerKinds)[number];

/** The caller. */
export interface AiCaller {
  readonly kind: AiCallerKind;
  readonly organizationId: string;
  /** Null means an API key of the organization. */
  readonly projectId: string | null;
  readonly deploymentId: string | null;
  readonly branch: string | null;
  readonly plan: Plan;
  /** The agent run that made the call, or null. */
  readonly runId: string | null;
  /** The organization's API key. It is never in the header, because only external clients send keys. */
  readonly keyId?: string;
}

/** A caller in `platform dev`, without limits by organization or plan. */
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

/** Maximum length of the base64 header. */
const CHARACTERS_MAX = 8192;
const NAME_CHARACTERS_MAX = 1024;

/** Encodes the caller for the header. */
export function encodeCaller(caller: AiCaller): string {
  return Buffer.from(JSON.stringify(caller)).toString('base64url');
}

/** Null if the header is missing, or has an unknown version. */
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
