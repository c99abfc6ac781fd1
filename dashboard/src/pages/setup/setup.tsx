// The first setup, for the operator: its steps with their state. The first sign-in leads here.
import { useMutation, useQuery, useQueryClient } from '@tanstack/react-query';
import { useNavigate } from '@tanstack/react-router';
import { api, dataOf } from '../../api/client.ts';
import { Button } from '../../components/button.tsx';
import { Page, Section } from '../../components/page.tsx';
import { Prose } from '../../components/prose.tsx';
import { State, type Tone } from '../../components/state.tsx';
import { noteFailed } from '../../components/toast.ts';
import { Unloaded } from '../../components/unloaded.tsx';
import { useChange } from '../../records/use-change.ts';
import { setupQuery, type Setup } from '../../queries/setup.ts';
import styles from '../settings/settings.module.css';
import { controls } from './steps.tsx';

/** Deployments and emails change the state of steps in the meantime. */
const LOOK_MS = 3000;

type Step = Setup['steps'][number];

const titles: Readonly<Record<Step['name'], string>> = {
  account: 'Your account',
  domain: 'Domain',
  https: 'HTTPS',
  'git-host': 'Git host',
  ai: 'AI provider',
  backups: 'Backups',
  mail: 'Mail',
  invitations: 'Invitations',
  example: 'First deployment',
};
const tones: Readonly<Record<Step['state'], readonly [tone: Tone, word: string]>> = {
  done: ['ok', 'Done'],
  open: ['warning', 'Open'],
  skipped: ['neutral', 'Skipped'],
};

export function SetupPage() {
  const navigate = useNavigate();
  const client = useQueryClient();
  const { data, error, refetch } = useQuery({ ...setupQuery, refetchInterval: LOOK_MS });
  const finish = useMutation({
    mutationFn: () => dataOf(api.post('/operator/setup/finish', {})),
    async onSuccess() {
      await client.invalidateQueries({ queryKey: setupQuery.queryKey });
      await navigate({ to: '/' });
    },
    onError: (failure) => noteFailed('Could not finish the setup', failure),
  });
  return (
    <Page
      title="Set up the platform"
      description="Skip what you do not need. You can come back to this page at any time."
      actions={
        <Button variant="primary" onClick={() => finish.mutate()} isPending={finish.isPending}>
          {data?.isFinished === true ? 'Close' : 'Finish setup'}
        </Button>
      }
    >
      {data === undefined ? (
        <Unloaded what="the setup" error={error} refetch={refetch} />
      ) : (
        data.steps.map((step) => <StepSection key={step.name} step={step} />)
      )}
    </Page>
  );
}

function StepSection({ step }: { readonly step: Step }) {
  const { name, state, message, advice } = step;
  const Controls = controls[name];
  const skip = useChange<Setup, boolean, undefined>({
    queryKey: setupQuery.queryKey,
    act: (isSkipped) =>
      dataOf(api.post('/operator/setup/steps/:step', { params: { step: name }, body: { isSkipped } })),
    failed: 'Could not skip the step',
  });
  const [tone, word] = tones[state];
  return (
    <Section
      title={titles[name]}
      actions={
        state !== 'done' && (
          <Button
            size="small"
            variant="ghost"
            aria-label={`${state === 'skipped' ? 'Set up' : 'Skip'}: ${titles[name]}`}
            onClick={() => skip.mutate(state === 'open')}
            isPending={skip.isPending}
          >
            {state === 'skipped' ? 'Set up' : 'Skip'}
          </Button>
        )
      }
    >
      <div className={styles.card}>
        <div className={styles.buttons}>
          <State tone={tone}>{word}</State>
          <span>
            <Linked text={message} />
          </span>
        </div>
        {state !== 'skipped' && (
          <>
            {advice !== null && (
              <p className={styles.soft}>
                <Prose text={advice} />
              </p>
            )}
            <Controls isDone={state === 'done'} />
          </>
        )}
      </div>
    </Section>
  );
}

/** A text whose last word may be a URL. */
function Linked({ text }: { readonly text: string }) {
  const [, before, url] = /^([^]*\s)(https?:\/\/\S+)$/.exec(text) ?? [];
  if (url === undefined) return <Prose text={text} />;
  return (
    <>
      {before}
      <a className="link" href={url} target="_blank" rel="noreferrer">
        {url}
      </a>
    </>
  );
}
