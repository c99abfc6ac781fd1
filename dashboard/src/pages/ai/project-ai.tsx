// AI of a project: usage, calls, limits.
import { useQuery, useQueryClient } from '@tanstack/react-query';
import { useNavigate, useSearch } from '@tanstack/react-router';
import { useState } from 'react';
import { api, dataOf } from '../../api/client.ts';
import { useChange } from '../../records/use-change.ts';
import { Button } from '../../components/button.tsx';
import { FormDialog } from '../../components/form-dialog.tsx';
import { Page, Section } from '../../components/page.tsx';
import { noteDone } from '../../components/toast.ts';
import { limitText, projectAiQuery, type AiLimit } from '../../queries/ai.ts';
import { WithProject } from '../../shell/with-project.tsx';
import { AiCalls } from './ai-calls.tsx';
import { AiUsageView } from './ai-usage.tsx';
import { LimitFields, typed, untyped } from './limits.tsx';
import { AiReadiness } from './readiness.tsx';

export function ProjectAiPage() {
  const search = useSearch({ from: '/projects/$project/ai' });
  const navigate = useNavigate({ from: '/projects/$project/ai' });
  const onSearch = (next: typeof search): void => void navigate({ search: next });
  return (
    <Page title="AI" description="Model calls through env.AI and PLATFORM_AI_URL">
      <WithProject>
        {({ id, name }) => (
          <>
            <ProjectReadiness id={id} />
            <AiUsageView
              of={{ projectId: id }}
              search={search}
              onSearch={onSearch}
              groups={[['deployment', 'Deployments', (deployment) => deployment]]}
            />
            <Section title="Calls">
              <AiCalls of={{ projectId: id }} project={name} search={search} onSearch={onSearch} />
            </Section>
            <ProjectLimits id={id} />
          </>
        )}
      </WithProject>
    </Page>
  );
}

function ProjectReadiness({ id }: { readonly id: string }) {
  const { data } = useQuery(projectAiQuery(id));
  return data === undefined ? null : <AiReadiness of={data.readiness} />;
}

function ProjectLimits({ id }: { readonly id: string }) {
  const [isOpen, setOpen] = useState(false);
  const { data } = useQuery(projectAiQuery(id));
  if (data === undefined) return null;
  return (
    <Section title="Project limits" actions={<Button onClick={() => setOpen(true)}>Edit limits</Button>}>
      <p>
        {data.limits.length === 0
          ? 'None. The limits of the organization and its plan apply.'
          : `${data.limits.map(limitText).join(', ')}, in addition to those of the organization and its plan.`}
      </p>
      {isOpen && <LimitDialog id={id} limits={data.limits} onClose={() => setOpen(false)} />}
    </Section>
  );
}

interface LimitDialogProps {
  readonly id: string;
  readonly limits: readonly AiLimit[];
  readonly onClose: () => void;
}

function LimitDialog({ id, limits: before, onClose }: LimitDialogProps) {
  const queries = useQueryClient();
  const [limits, setLimits] = useState(typed(before));
  const save = useChange({
    queryKey: ['ai-limits', id],
    failed: 'Could not update the limits',
    act: () => dataOf(api.put('/projects/:id/ai', { params: { id }, body: { limits: untyped(limits) } })),
    onDone: () => {
      noteDone('Limits updated');
      void queries.invalidateQueries({ queryKey: ['ai-month'] });
      onClose();
    },
  });
  return (
    <FormDialog
      onClose={onClose}
      title="Project limits"
      description="Calls over a limit are refused with 429. Days and months are in UTC. A limit on cost is a budget, in the currency of the model prices."
      action="Save limits"
      onSubmit={() => save.mutate(undefined)}
      isPending={save.isPending}
    >
      <LimitFields limits={limits} onChange={setLimits} />
    </FormDialog>
  );
}
