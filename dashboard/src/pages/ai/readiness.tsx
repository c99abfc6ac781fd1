// Says above the AI of a project or an organization what is missing for calls of models; nothing where nothing is.
import { Notice } from '../../components/notice.tsx';
import type { AiReadiness as Readiness } from '../../queries/ai.ts';

export function AiReadiness({ of: { state, advice } }: { readonly of: Readiness }) {
  if (advice === null) return null;
  return (
    <Notice
      tone={state === 'mock' ? 'neutral' : 'warning'}
      title={state === 'mock' ? 'No model is asked' : 'Calls of models fail'}
    >
      <p>{advice}</p>
    </Notice>
  );
}
