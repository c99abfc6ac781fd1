// Forms for the operator's mail: mail server and sender, and a test. The mail page and the setup show these forms.
import { useQuery, useQueryClient } from '@tanstack/react-query';
import { api, dataOf } from '../../api/client.ts';
import { useChange } from '../../records/use-change.ts';
import { Button } from '../../components/button.tsx';
import { Field, Input } from '../../components/field.tsx';
import { noteDone } from '../../components/toast.ts';
import styles from '../settings/settings.module.css';

const queryKey = ['operator-settings'];

/** Refetches everything that depends on mail. */
function useMailChange<Input, Result>(
  act: (input: Input) => Promise<Result>,
  failed: string,
  onDone: (result: Result) => void,
) {
  const client = useQueryClient();
  return useChange({
    queryKey,
    act,
    failed,
    onDone(result: Result) {
      for (const key of ['operator-mail', 'setup']) void client.invalidateQueries({ queryKey: [key] });
      onDone(result);
    },
  });
}

/** Saves mail server and sender; shows a notice if variables set them. */
export function MailServerForm() {
  const { data } = useQuery({ queryKey, queryFn: ({ signal }) => dataOf(api.get('/operator/settings', { signal })) });
  const save = useMailChange(
    ({ url, from }: { readonly url: string; readonly from: string }) =>
      dataOf(
        api.patch('/operator/settings', {
          body: { ...(url !== '' && { AUTH_MAIL_URL: url }), ...(from !== '' && { MAIL_FROM: from }) },
        }),
      ),
    'Could not save the mail server',
    () => noteDone('Mail server saved'),
  );
  if (data === undefined) return null;
  const settingOf = (name: string) => data.items.find((one) => one.name === name);
  const url = settingOf('AUTH_MAIL_URL');
  if (url?.source === 'environment')
    return <p className={styles.soft}>The mail server is set by AUTH_MAIL_URL in the environment of the platform.</p>;
  return (
    <form
      className={styles.form}
      onSubmit={(event) => {
        event.preventDefault();
        const form = new FormData(event.currentTarget);
        save.mutate({ url: String(form.get('url')).trim(), from: String(form.get('from')).trim() });
      }}
    >
      <Field
        label="Mail server"
        hint="smtp:// with STARTTLS, smtps://, or https:// for a POST of JSON. Stored encrypted and not shown again."
        error={save.problem}
      >
        {(control) => (
          <Input
            {...control}
            name="url"
            isCode
            required={url?.source !== 'platform'}
            maxLength={2048}
            placeholder={
              url?.source === 'platform' ? 'Set; enter a new one' : 'smtp://user:password@mail.example.com:587'
            }
          />
        )}
      </Field>
      <Field label="Sender" hint="Required for a mail server.">
        {(control) => (
          <Input
            {...control}
            name="from"
            maxLength={400}
            placeholder="Platform <platform@example.com>"
            defaultValue={settingOf('MAIL_FROM')?.value ?? ''}
          />
        )}
      </Field>
      <div className={styles.buttons}>
        <Button type="submit" isPending={save.isPending}>
          Save mail server
        </Button>
      </div>
    </form>
  );
}

/** Sends a test email. */
export function MailTestForm() {
  const test = useMailChange(
    (to: string) => dataOf(api.post('/operator/mail/test', { body: { to } })),
    'Could not send the test',
    ({ server }) => noteDone(`${server} accepted the email`),
  );
  return (
    <form
      className={styles.form}
      onSubmit={(event) => {
        event.preventDefault();
        test.mutate(String(new FormData(event.currentTarget).get('to')));
      }}
    >
      <Field label="Send a test to" error={test.problem}>
        {(control) => (
          <Input {...control} name="to" type="email" required maxLength={254} placeholder="ada@example.com" />
        )}
      </Field>
      <div className={styles.buttons}>
        <Button type="submit" isPending={test.isPending}>
          Send test
        </Button>
      </div>
    </form>
  );
}
