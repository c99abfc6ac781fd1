// Mail of the installation, for the operator: how emails are sent, the last one, the last failure, and a test.
import { useQuery } from '@tanstack/react-query';
import { api, dataOf } from '../../api/client.ts';
import { CodeBlock } from '../../components/code-block.tsx';
import { Notice } from '../../components/notice.tsx';
import { Page, Section } from '../../components/page.tsx';
import { Time } from '../../components/time.tsx';
import { Unloaded } from '../../components/unloaded.tsx';
import styles from '../settings/settings.module.css';
import { MailServerForm, MailTestForm } from './mail-forms.tsx';

const queryKey = ['operator-mail'];

const readMail = (signal: AbortSignal) => dataOf(api.get('/operator/mail', { signal }));
type Mail = Awaited<ReturnType<typeof readMail>>;

export function MailPage() {
  const { data, error, refetch } = useQuery({ queryKey, queryFn: ({ signal }) => readMail(signal) });
  return (
    <Page title="Mail" description="Emails of the platform and of its apps">
      {data === undefined ? (
        <Unloaded what="the mail settings" error={error} refetch={refetch} />
      ) : (
        <>
          <MailState mail={data} />
          <Section title="Mail server">
            <MailServerForm />
          </Section>
          {data.kind !== null && (
            <Section title="Test">
              <MailTestForm />
            </Section>
          )}
        </>
      )}
      <Section title="On the command line">
        <CodeBlock code="platform mail test <address>" isCommand />
      </Section>
    </Page>
  );
}

function MailState({ mail: { kind, server, from, waiting, lastSent, lastFailure } }: { readonly mail: Mail }) {
  if (kind === null)
    return (
      <Notice tone="warning" title="No mail is set up">
        <p>Invitations, password resets, alerts and apps cannot send emails.</p>
      </Notice>
    );
  const isFailing = lastFailure !== null && (lastSent === null || lastFailure.at > lastSent.at);
  return (
    <Notice tone={isFailing ? 'failed' : 'ok'} title={isFailing ? 'The last email was not sent' : `Sent by ${server}`}>
      {isFailing && (
        <p>
          {lastFailure.error}
          {lastFailure.reply !== null && <> The server replied: {lastFailure.reply}</>}
        </p>
      )}
      <dl className={styles.records}>
        <dt>Server</dt>
        <dd>{kind === 'smtp' ? server : `${server}, by POST`}</dd>
        {from !== null && (
          <>
            <dt>Sender</dt>
            <dd>{from}</dd>
          </>
        )}
        <dt>Waiting</dt>
        <dd>{waiting}</dd>
        <dt>Last email</dt>
        <dd>{lastSent === null ? 'None' : <Outcome outcome={lastSent} />}</dd>
        {lastFailure !== null && (
          <>
            <dt>Last failure</dt>
            <dd>
              <Outcome outcome={lastFailure} />
            </dd>
          </>
        )}
      </dl>
    </Notice>
  );
}

function Outcome({ outcome: { at, recipient, project } }: { readonly outcome: NonNullable<Mail['lastSent']> }) {
  return (
    <span>
      <Time at={at} /> to {recipient}
      {project !== null && <>, from {project}</>}
    </span>
  );
}
