// Whether an organization's AI calls can be answered, for its pages and `platform deploy`.
import Type from '#core/typebox/typebox.mjs';
import { aiAdvice, aiReadiness, type AiReadiness } from '#core/ai-readiness.ts';
import type { Dependencies } from '../process/dependencies.ts';

export const ReadinessSchema = Type.Object(
  {
    state: Type.Enum(['ready', 'mock', 'no_auto', 'no_provider', 'no_gateway']),
    advice: Type.Union([Type.String(), Type.Null()]),
  },
  { description: 'Whether model calls work, and what is missing' },
);

/** Checks the settings of the operator and the organization. */
export async function readReadiness(
  { sql, operatorAi }: Pick<Dependencies, 'sql' | 'operatorAi'>,
  organizationId: string,
): Promise<{ state: AiReadiness; advice: string | null }> {
  const providers = await sql<{ kind: string }[]>`
    SELECT kind FROM control.ai_provider WHERE organization_id = ${organizationId} AND enabled`;
  const [settings] = await sql<{ auto: string[] }[]>`
    SELECT auto FROM control.ai_settings WHERE organization_id = ${organizationId} AND project_id IS NULL`;
  const own = { kinds: providers.map(({ kind }) => kind), auto: settings?.auto ?? [] };
  const state = aiReadiness(operatorAi, own);
  return { state, advice: aiAdvice[state] };
}
