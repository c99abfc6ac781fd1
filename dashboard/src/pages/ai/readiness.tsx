// Notice of missing AI settings above the AI pages; renders nothing if AI is ready.
import { Notice } from '../../components/notice.tsx';
import { Prose } from '../../components/prose.tsx';
import type { AiReadiness as Readiness } from '../../queries/ai.ts';

export function AiReadiness({ of: { state, advice } }: { readonly of: Readiness }) {
  if (advice === null) return null;
  return (
    <Notice
      tone={state === 'mock' ? 'neutral' : 'warning'}
      title={state === 'mock' ? 'Using mock responses' : 'Model calls fail'}
    >
      <p>
        <Prose text={advice} />
      </p>
    </Notice>
  );
}
